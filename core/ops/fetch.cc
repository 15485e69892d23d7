#include "core/ops/fetch.h"

#include <cstring>

#include "core/tensor/copy.h"

namespace osprey {

namespace {

constexpr size_t kAlign = 16;

bool is_far(const Tensor& tensor) { return tensor.defined() && tensor.device().is_cuda(); }
int64_t room_for(const Tensor& tensor) {
  return static_cast<int64_t>((tensor.bytes() + kAlign - 1) / kAlign * kAlign);
}

// The bytes of all far tensors, one after the other, on their device; undefined without any.
Tensor packed(const Tensors& tensors) {
  int64_t bytes = 0;
  Device device;
  for (const Tensor& tensor : tensors) {
    if (!is_far(tensor)) continue;
    OSPREY_REQUIRE(bytes == 0 || tensor.device() == device, "fetch_together: tensors on ", device, " and ",
                   tensor.device());
    device = tensor.device();
    bytes += room_for(tensor);
  }
  if (bytes == 0) return {};
  Tensor all = Tensor::zeros({bytes}, DType::kU8, device);
  int64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    if (!is_far(tensor)) continue;
    Tensor place = all.slice(begin, begin + room_for(tensor));
    if (!tensor.empty()) {
      copy_bytes_kernel.get(DeviceType::kCUDA)(tensor.raw(), device, place.mutable_raw(), device,
                                               tensor.bytes());
    }
    begin += room_for(tensor);
  }
  return all;
}

}  // namespace

Tensors fetch_together(const Tensors& tensors) {
  const Tensor far = packed(tensors);
  const Tensor here = far.defined() ? far.to(kCPU) : Tensor();
  Tensors fetched;
  int64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    if (!is_far(tensor)) {
      fetched.push_back(tensor);
      continue;
    }
    Tensor copy(tensor.shape(), tensor.dtype());
    if (!tensor.empty()) {
      std::memcpy(copy.mutable_raw(), here.slice(begin, begin + room_for(tensor)).raw(), tensor.bytes());
    }
    fetched.push_back(copy);
    begin += room_for(tensor);
  }
  return fetched;
}

}  // namespace osprey
