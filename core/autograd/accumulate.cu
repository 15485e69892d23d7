#include "core/autograd/accumulate.h"

#include "core/backend/cuda/launch.cuh"

namespace osprey {
namespace {

template <typename T>
struct AddInto {
  const T* source;
  T* target;
  OSPREY_HD void operator()(int64_t i) const {
    using C = ComputeType<T>;
    target[i] = static_cast<T>(static_cast<C>(target[i]) + static_cast<C>(source[i]));
  }
};

void add_into_cuda(const Tensor& source, Tensor& target) {
  dispatch_floating(target.dtype(), "add_into", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for_cuda(target.device(), target.numel(),
                      AddInto<T>{source.data<T>(), target.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(add_into_kernel, DeviceType::kCUDA, add_into_cuda);

}  // namespace
}  // namespace osprey
