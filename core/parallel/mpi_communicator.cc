#include "core/parallel/mpi_communicator.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "core/base/logging.h"
#include "core/parallel/device_collectives.h"

namespace osprey {
namespace {

// MPI counts in int.
constexpr int64_t kMostAtOnce = int64_t{1} << 28;
// How long a rank that fails waits for the others to fail alike, and how much longer each next rank does, so
// that of several the first is heard.
constexpr std::chrono::milliseconds kPatience{2000}, kStagger{300};

void check_mpi(int status, const char* call, const std::string& about) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(str_cat(call, ": ", text, about.empty() ? "" : " (" + about + ")"));
}
#define OSPREY_MPI(call, about) check_mpi((call), #call, about)

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return MPI_DOUBLE;
    case DType::kF32:
      return MPI_FLOAT;
    case DType::kI64:
      return MPI_INT64_T;
    case DType::kI32:
      return MPI_INT32_T;
    default:
      throw Error(str_cat("all_reduce: no sum of ", dtype, " tensors"));
  }
}

MPI_Op operation(Communicator::Reduce how) {
  if (how == Communicator::Reduce::kSum) return MPI_SUM;
  return how == Communicator::Reduce::kMin ? MPI_MIN : MPI_MAX;
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Calls body(first, count) for pieces that MPI can count.
template <typename Body>
void in_pieces(int64_t count, const Body& body) {
  for (int64_t first = 0; first < count; first += kMostAtOnce) {
    body(first, static_cast<int>(std::min(kMostAtOnce, count - first)));
  }
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int provided = 0;
    OSPREY_MPI(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OSPREY_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &failures_), "");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    OSPREY_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local), "");
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  void all_reduce(Tensor& tensor) override {
    if (tensor.empty()) return;
    if (is_half(tensor.dtype())) {
      Tensor wide = tensor.to(DType::kF32);
      all_reduce(wide);
      tensor.copy_from(wide);
    } else if (DeviceCollectives* direct = collectives_of(tensor.device())) {
      direct->all_reduce(tensor);
    } else if (tensor.device() != kCPU) {
      Tensor host = tensor.to(kCPU);
      all_reduce(host);
      tensor.copy_from(host);
    } else {
      reduce_on_host(tensor);
    }
  }

  void broadcast(Tensor& tensor, int root) override {
    if (tensor.empty()) return;
    if (DeviceCollectives* direct = collectives_of(tensor.device())) {
      direct->broadcast(tensor, root);
    } else if (tensor.device() != kCPU) {
      Tensor host = tensor.to(kCPU);
      broadcast(host, root);
      tensor.copy_from(host);
    } else {
      send_bytes(static_cast<char*>(tensor.mutable_raw()), tensor.bytes(), root, describe(tensor));
    }
  }

  void all_reduce(std::vector<double>& values, Reduce how) override {
    OSPREY_MPI(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                             operation(how), MPI_COMM_WORLD),
               str_cat(values.size(), " numbers"));
  }

  void broadcast(std::string& bytes, int root) override {
    uint64_t count = bytes.size();
    OSPREY_MPI(MPI_Bcast(&count, 1, MPI_UINT64_T, root, MPI_COMM_WORLD), "a length");
    bytes.resize(count);
    send_bytes(bytes.data(), bytes.size(), root, str_cat(count, " bytes"));
  }

  std::vector<std::string> all_gather(const std::string& bytes) override {
    std::vector<std::string> parts(static_cast<size_t>(size_));
    parts[static_cast<size_t>(rank_)] = bytes;
    for (int root = 0; root < size_; ++root) broadcast(parts[static_cast<size_t>(root)], root);
    return parts;
  }

  std::vector<std::string> gather(const std::string& bytes) override {
    if (rank_ != 0) {
      send_to_main(bytes);
      return {};
    }
    std::vector<std::string> parts{bytes};
    for (int source = 1; source < size_; ++source) parts.push_back(receive_from(source));
    return parts;
  }

  void barrier() override { OSPREY_MPI(MPI_Barrier(MPI_COMM_WORLD), ""); }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

  bool last_words(const std::string& message, int exit_code) override {
    const std::vector<uint64_t> heard = failures(std::hash<std::string>{}(message));
    if (heard.empty()) {
      std::cerr << "rank " << rank_ << ": " << message << std::endl;
      abort(exit_code);
    }
    return rank_ == 0 || heard[static_cast<size_t>(rank_)] != heard[0];
  }

  void leave() override {
    collectives_.clear();
    MPI_Comm_free(&failures_);
    MPI_Finalize();
  }

 private:
  void reduce_on_host(Tensor& tensor) {
    const MPI_Datatype type = type_of(tensor.dtype());
    char* data = static_cast<char*>(tensor.mutable_raw());
    in_pieces(tensor.numel(), [&](int64_t first, int count) {
      OSPREY_MPI(MPI_Allreduce(MPI_IN_PLACE, data + static_cast<size_t>(first) * size_of(tensor.dtype()),
                               count, type, MPI_SUM, MPI_COMM_WORLD),
                 describe(tensor));
    });
  }

  void send_bytes(char* data, size_t bytes, int root, const std::string& about) {
    in_pieces(static_cast<int64_t>(bytes), [&](int64_t first, int count) {
      OSPREY_MPI(MPI_Bcast(data + first, count, MPI_BYTE, root, MPI_COMM_WORLD), about);
    });
  }

  void send_to_main(const std::string& bytes) {
    const uint64_t size = bytes.size();
    OSPREY_MPI(MPI_Send(&size, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD), "a length");
    in_pieces(static_cast<int64_t>(size), [&](int64_t first, int count) {
      OSPREY_MPI(MPI_Send(bytes.data() + first, count, MPI_BYTE, 0, 0, MPI_COMM_WORLD),
                 str_cat(size, " bytes"));
    });
  }

  static std::string receive_from(int source) {
    uint64_t size = 0;
    OSPREY_MPI(MPI_Recv(&size, 1, MPI_UINT64_T, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "a length");
    std::string bytes(size, '\0');
    in_pieces(static_cast<int64_t>(size), [&](int64_t first, int count) {
      OSPREY_MPI(
          MPI_Recv(bytes.data() + first, count, MPI_BYTE, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          str_cat(size, " bytes"));
    });
    return bytes;
  }

  // What every rank failed with, when all of them do in time; else empty.
  std::vector<uint64_t> failures(uint64_t own) {
    std::vector<uint64_t> heard(static_cast<size_t>(size_));
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Iallgather(&own, 1, MPI_UINT64_T, heard.data(), 1, MPI_UINT64_T, failures_, &request) !=
        MPI_SUCCESS)
      return {};
    const auto end = std::chrono::steady_clock::now() + kPatience + rank_ * kStagger;
    for (int done = 0; std::chrono::steady_clock::now() < end;) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return {};
      if (done) return heard;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  // Null where tensors of the device go through host memory. The ranks settle it together on first use.
  DeviceCollectives* collectives_of(Device device) {
    if (device == kCPU) return nullptr;
    const auto known = collectives_.find(device.index);
    if (known != collectives_.end()) return known->second.get();
    std::unique_ptr<DeviceCollectives>& made = collectives_[device.index];
    const DeviceCollectivesMaker* maker = device_collectives_maker(device.type);
    if (maker == nullptr) {
      log_info("this build has no NCCL: what GPUs exchange goes through host memory");
    } else if (shares_device(maker->identity(device))) {
      log_info(
          "several ranks share a GPU, which NCCL cannot do: what they exchange goes through host memory");
    } else {
      made = maker->make(device, *this);
    }
    return made.get();
  }

  bool shares_device(const std::string& identity) {
    const std::vector<std::string> all = all_gather(host_name() + "/" + identity);
    return std::set<std::string>(all.begin(), all.end()).size() < all.size();
  }

  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  MPI_Comm failures_ = MPI_COMM_NULL;  // apart from whatever the others are in the middle of
  std::map<int, std::unique_ptr<DeviceCollectives>> collectives_;  // by index of the device
};

}  // namespace

Communicator& join_mpi_world() {
  static MpiCommunicator& ranks = *new MpiCommunicator;  // outlives every static that may still speak
  set_world(ranks);
  return ranks;
}

}  // namespace osprey
