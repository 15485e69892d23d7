#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/amp/unscale_kernel.h"
#include "core/base/parallel.h"
#include "core/tensor/convert.h"

namespace osprey {

DeviceKernel<void(std::vector<UnscaleJob>&, float)> unscale_kernel("unscale");
DeviceKernel<void(std::vector<RoundJob>&)> round_masters_kernel("round masters");

namespace {

constexpr int64_t kBlock = 512;  // fits the first-level cache in both precisions
constexpr uint32_t kInfinityBits = 0x7F800000u;

// Largest magnitude as an integer: exponents of all ones (inf, NaN) compare above every finite value, and
// unlike a float comparison this vectorises.
uint32_t largest_magnitude(const float* values, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    largest = std::max(largest, bits & 0x7FFFFFFFu);
  }
  return largest;
}

template <typename T>
bool unscale_range(const T* grad, float factor, bool accumulate, float* master, int64_t n) {
  float wide[kBlock];
  uint32_t largest = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    float* out = master + begin;
    widen(grad + begin, wide, count);
    if (accumulate) {
      for (int64_t i = 0; i < count; ++i) out[i] += wide[i] * factor;
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = wide[i] * factor;
    }
    largest = std::max(largest, largest_magnitude(out, count));
  }
  return largest < kInfinityBits;
}

template <typename T>
bool unscale_typed(const Tensor& grad, float factor, bool accumulate, Tensor& master) {
  const T* from = grad.data<T>();
  float* to = master.mutable_data<float>();
  std::atomic<bool> all_good{true};
  parallel_ranges(grad.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    if (!unscale_range(from + begin, factor, accumulate, to + begin, end - begin))
      all_good.store(false, std::memory_order_relaxed);
  });
  return all_good;
}

bool unscale(const Tensor& grad, float factor, bool accumulate, Tensor& master) {
  switch (grad.dtype()) {
    case DType::kF16:
      return unscale_typed<Half>(grad, factor, accumulate, master);
    case DType::kBF16:
      return unscale_typed<BFloat16>(grad, factor, accumulate, master);
    default:
      return unscale_typed<float>(grad, factor, accumulate, master);
  }
}

void unscale_cpu(std::vector<UnscaleJob>& jobs, float factor) {
  for (UnscaleJob& job : jobs) {
    if (!job.master.defined()) {
      mark_nonfinite(job.grad, job.nonfinite);
    } else if (!unscale(job.grad, factor, job.accumulate, job.master)) {
      *job.nonfinite.mutable_data<int32_t>() = 1;
    }
  }
}

OSPREY_REGISTER_KERNEL(unscale_kernel, DeviceType::kCPU, unscale_cpu);

}  // namespace
}  // namespace osprey
