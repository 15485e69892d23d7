#include "core/autograd/accumulate.h"

#include "core/base/parallel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, Tensor&)> add_into_kernel("add_into");

namespace {

void add_into_cpu(const Tensor& source, Tensor& target) {
  dispatch_floating(target.dtype(), "add_into", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    const T* from = source.data<T>();
    T* to = target.mutable_data<T>();
    parallel_ranges(target.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = static_cast<T>(static_cast<C>(to[i]) + static_cast<C>(from[i]));
    });
  });
}

OSPREY_REGISTER_KERNEL(add_into_kernel, DeviceType::kCPU, add_into_cpu);

}  // namespace

void accumulate(Tensor& sum, const Tensor& gradient) {
  if (!sum.defined()) {
    sum = gradient;
    return;
  }
  OSPREY_REQUIRE(sum.shape() == gradient.shape() && sum.dtype() == gradient.dtype(),
                 "accumulate: ", describe(gradient), " onto ", describe(sum));
  if (sum.storage().use_count() > 1) sum = sum.clone();
  add_into_kernel(sum.device(), gradient, sum);
}

}  // namespace osprey
