#include "core/backend/cuda/launch.cuh"
#include "core/bbox/overlap_kernel.h"

namespace osprey {
namespace {

template <OverlapMode mode>
struct PairOverlap {
  const float *a, *b;
  int64_t n;  // boxes of b, 0: aligned
  float eps;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t row = n == 0 ? i : divide(i, n), column = n == 0 ? i : i - row * n;
    out[i] = box_overlap<mode>(BoxEdges::of(a + 4 * row), BoxEdges::of(b + 4 * column), eps);
  }
};

template <OverlapMode mode>
void overlaps_of(const Tensor& a, const Tensor& b, bool aligned, float eps, Tensor& overlaps) {
  parallel_for_cuda(a.device(), overlaps.numel(),
                    PairOverlap<mode>{a.data<float>(), b.data<float>(), aligned ? 0 : b.dim(0), eps,
                                      overlaps.mutable_data<float>()});
}

void bbox_overlaps_cuda(const Tensor& a, const Tensor& b, OverlapMode mode, bool aligned, float eps,
                        Tensor& overlaps) {
  switch (mode) {
    case OverlapMode::kIoU:
      return overlaps_of<OverlapMode::kIoU>(a, b, aligned, eps, overlaps);
    case OverlapMode::kIoF:
      return overlaps_of<OverlapMode::kIoF>(a, b, aligned, eps, overlaps);
    case OverlapMode::kGIoU:
      return overlaps_of<OverlapMode::kGIoU>(a, b, aligned, eps, overlaps);
  }
}

OSPREY_REGISTER_KERNEL(bbox_overlaps_kernel, DeviceType::kCUDA, bbox_overlaps_cuda);

}  // namespace
}  // namespace osprey
