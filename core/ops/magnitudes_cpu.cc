#include <algorithm>
#include <mutex>

#include "core/base/parallel.h"
#include "core/ops/magnitudes_kernel.h"

namespace osprey {
namespace {

constexpr int64_t kGrain = 1 << 15;
// Neighbours often share their exponent: counters side by side spare one the wait for the other.
constexpr int64_t kSets = 4;

void clear(int64_t* cells) {
  std::fill_n(cells, kMagnitudeCells, 0);
  cells[kSmallest] = kNoSmallest;
}

template <typename T>
void count_range(const T* x, int64_t begin, int64_t end, int64_t (*sets)[kMagnitudeCells]) {
  for (int64_t s = 0; s < kSets; ++s) clear(sets[s]);
  for (int64_t i = begin; i < end; ++i) count_magnitude(static_cast<float>(x[i]), sets[i % kSets]);
}

template <typename T>
void magnitudes_of(const Tensor& value, int64_t* total) {
  const T* x = value.data<T>();
  std::mutex mutex;
  parallel_ranges(value.numel(), kGrain, [&](int64_t begin, int64_t end) {
    int64_t sets[kSets][kMagnitudeCells];
    count_range(x, begin, end, sets);
    const std::lock_guard lock(mutex);
    for (const auto& set : sets) {
      for (int64_t cell = 0; cell < kMagnitudeCells; ++cell) join_magnitude(cell, set[cell], &total[cell]);
    }
  });
}

void magnitudes_cpu(const Tensor& value, Tensor& cells) {
  int64_t* total = cells.mutable_data<int64_t>();
  clear(total);
  switch (value.dtype()) {
    case DType::kF16:
      return magnitudes_of<Half>(value, total);
    case DType::kBF16:
      return magnitudes_of<BFloat16>(value, total);
    default:
      return magnitudes_of<float>(value, total);
  }
}

OSPREY_REGISTER_KERNEL(magnitudes_kernel, DeviceType::kCPU, magnitudes_cpu);

}  // namespace
}  // namespace osprey
