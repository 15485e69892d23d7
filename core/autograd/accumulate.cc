#include "core/autograd/accumulate.h"

#include "core/base/parallel.h"
#include "core/tensor/convert.h"

namespace osprey {

DeviceKernel<void(const Tensor&, Tensor&)> add_into_kernel("add_into");

namespace {

template <typename T>
void add_range(const T* from, T* to, int64_t n) {
  if constexpr (std::is_same_v<T, ComputeType<T>>) {
    for (int64_t i = 0; i < n; ++i) to[i] += from[i];
  } else {
    constexpr int64_t kBlock = 256;
    float sum[kBlock], term[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t count = std::min(kBlock, n - i);
      widen(to + i, sum, count);
      widen(from + i, term, count);
      for (int64_t k = 0; k < count; ++k) sum[k] += term[k];
      narrow(sum, to + i, count);
    }
  }
}

void add_into_cpu(const Tensor& source, Tensor& target) {
  dispatch_floating(target.dtype(), "add_into", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = source.data<T>();
    T* to = target.mutable_data<T>();
    parallel_ranges(target.numel(), 1 << 15,
                    [&](int64_t begin, int64_t end) { add_range(from + begin, to + begin, end - begin); });
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
