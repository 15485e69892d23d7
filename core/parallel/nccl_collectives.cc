#include <nccl.h>

#include <cstring>

#include "core/backend/cuda/runtime.h"
#include "core/parallel/device_collectives.h"

namespace osprey {
namespace {

void check_nccl(ncclResult_t status, const char* call, const std::string& about) {
  if (status == ncclSuccess) return;
  throw Error(str_cat(call, ": ", ncclGetErrorString(status), " (", about,
                      "); NCCL_DEBUG=WARN in the environment shows more"));
}
#define OSPREY_NCCL(call, about) check_nccl((call), #call, about)

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ncclFloat32;
    case DType::kI64:
      return ncclInt64;
    case DType::kI32:
      return ncclInt32;
    default:
      throw Error(str_cat("all_reduce: no sum of ", dtype, " tensors on CUDA"));
  }
}

// Rank 0 draws the id, the host's communicator brings it to the others.
ncclUniqueId agreed_id(Communicator& host) {
  ncclUniqueId id{};
  if (host.is_main()) OSPREY_NCCL(ncclGetUniqueId(&id), "rank 0");
  std::string bytes(reinterpret_cast<const char*>(&id), sizeof id);
  host.broadcast(bytes, 0);
  std::memcpy(&id, bytes.data(), sizeof id);
  return id;
}

class NcclCollectives final : public DeviceCollectives {
 public:
  NcclCollectives(Device device, Communicator& host) : device_(device) {
    const ncclUniqueId id = agreed_id(host);
    (void)current_stream(device);  // makes the device the thread's current one
    OSPREY_NCCL(ncclCommInitRank(&comm_, host.size(), id, host.rank()),
                str_cat("rank ", host.rank(), " of ", host.size(), ", ", device));
  }
  ~NcclCollectives() override { (void)ncclCommDestroy(comm_); }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void all_reduce(Tensor& tensor) override {
    const ncclDataType_t type = type_of(tensor.dtype());
    void* data = tensor.mutable_raw();
    OSPREY_NCCL(ncclAllReduce(data, data, static_cast<size_t>(tensor.numel()), type, ncclSum, comm_,
                              current_stream(device_)),
                describe(tensor));
  }

  void broadcast(Tensor& tensor, int root) override {
    void* data = tensor.mutable_raw();
    OSPREY_NCCL(ncclBroadcast(data, data, tensor.bytes(), ncclUint8, root, comm_, current_stream(device_)),
                describe(tensor));
  }

 private:
  Device device_;
  ncclComm_t comm_ = nullptr;
};

std::string identity(Device device) {
  char bus_id[32] = "";
  OSPREY_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device.index));
  return bus_id;
}

std::unique_ptr<DeviceCollectives> make(Device device, Communicator& host) {
  return std::make_unique<NcclCollectives>(device, host);
}

constexpr DeviceCollectivesMaker kMaker{identity, make};
[[maybe_unused]] const bool registered = register_device_collectives(DeviceType::kCUDA, kMaker);

}  // namespace
}  // namespace osprey
