#include <algorithm>

#include "core/backend/cuda/launch.cuh"
#include "core/ops/magnitudes_kernel.h"

namespace osprey {
namespace {

constexpr int64_t kMostLanes = 4096;
constexpr int64_t kElementsPerLane = 64;  // at least: below, joining the lanes would cost more than counting

// Lane j counts the elements j, j + lanes, ... in cells of its own: no atomics, the same result every time.
template <typename T>
struct CountLane {
  const T* x;
  int64_t n, lanes;
  int64_t* partial;  // (lanes, cells)
  OSPREY_HD void operator()(int64_t lane) const {
    int64_t* cells = partial + lane * kMagnitudeCells;
    for (int64_t cell = 0; cell < kMagnitudeCells; ++cell) cells[cell] = 0;
    cells[kSmallest] = kNoSmallest;
    for (int64_t i = lane; i < n; i += lanes) count_magnitude(static_cast<float>(x[i]), cells);
  }
};

struct JoinLanes {
  const int64_t* partial;
  int64_t lanes;
  int64_t* total;
  OSPREY_HD void operator()(int64_t cell) const {
    int64_t joined = partial[cell];
    for (int64_t lane = 1; lane < lanes; ++lane)
      join_magnitude(cell, partial[lane * kMagnitudeCells + cell], &joined);
    total[cell] = joined;
  }
};

template <typename T>
void launch(const Tensor& value, Tensor& cells) {
  const Device device = value.device();
  const int64_t n = value.numel(), lanes = std::clamp<int64_t>(n / kElementsPerLane, 1, kMostLanes);
  Tensor partial({lanes, kMagnitudeCells}, DType::kI64, device);
  parallel_for_cuda(device, lanes, CountLane<T>{value.data<T>(), n, lanes, partial.mutable_data<int64_t>()});
  parallel_for_cuda(device, kMagnitudeCells,
                    JoinLanes{partial.data<int64_t>(), lanes, cells.mutable_data<int64_t>()});
}

void magnitudes_cuda(const Tensor& value, Tensor& cells) {
  switch (value.dtype()) {
    case DType::kF16:
      return launch<Half>(value, cells);
    case DType::kBF16:
      return launch<BFloat16>(value, cells);
    default:
      return launch<float>(value, cells);
  }
}

OSPREY_REGISTER_KERNEL(magnitudes_kernel, DeviceType::kCUDA, magnitudes_cuda);

}  // namespace
}  // namespace osprey
