#include "core/bbox/bbox_overlaps.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/bbox/box_columns.h"
#include "core/bbox/overlap_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Tensor&, OverlapMode, bool, float, Tensor&)> bbox_overlaps_kernel(
    "bbox_overlaps");

namespace {

constexpr int64_t kTile = 4096;  // columns per piece of work: five arrays of them fit the second-level cache
constexpr int64_t kGrainPairs = 1 << 15;

Tensor pairwise(const BoxColumns& a, const BoxColumns& b, OverlapMode mode, float eps) {
  Tensor overlaps({a.size(), b.size()}, DType::kF32);
  if (overlaps.empty()) return overlaps;
  float* out = overlaps.mutable_data<float>();
  const int64_t width = std::min(b.size(), kTile);
  const int64_t tiles = (b.size() + width - 1) / width;
  parallel_ranges(a.size() * tiles, std::max<int64_t>(1, kGrainPairs / width), [&](int64_t from, int64_t to) {
    for (int64_t piece = from; piece < to; ++piece) {
      const int64_t row = piece / tiles, begin = piece % tiles * width;
      overlap_row(a, row, b, begin, std::min(begin + width, b.size()), mode, eps,
                  out + row * b.size() + begin);
    }
  });
  return overlaps;
}

Tensor of_equal_rows(const BoxColumns& a, const BoxColumns& b, OverlapMode mode, float eps) {
  Tensor overlaps({a.size()}, DType::kF32);
  float* out = overlaps.mutable_data<float>();
  for (int64_t i = 0; i < a.size(); ++i) overlap_row(a, i, b, i, i + 1, mode, eps, out + i);
  return overlaps;
}

Tensor on_device(const Tensor& a, const Tensor& b, OverlapMode mode, bool aligned, float eps) {
  const Device device = a.device();
  Tensor overlaps(aligned ? Shape{a.dim(0)} : Shape{a.dim(0), b.dim(0)}, DType::kF32, device);
  if (overlaps.empty()) return overlaps;
  bbox_overlaps_kernel(device, a.to(DType::kF32), b.to(device).to(DType::kF32), mode, aligned, eps, overlaps);
  return overlaps;
}

void require_boxes(const Tensor& boxes) {
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) == 4, "bbox_overlaps: boxes must be (n, 4), got ",
                 to_string(boxes.shape()));
}

}  // namespace

Tensor bbox_overlaps(const Tensor& a, const Tensor& b, OverlapMode mode, bool aligned, double eps) {
  require_boxes(a);
  require_boxes(b);
  OSPREY_REQUIRE(!aligned || a.dim(0) == b.dim(0),
                 "bbox_overlaps: aligned boxes must be as many on both sides, got ", a.dim(0), " and ",
                 b.dim(0));
  if (a.device().is_cuda()) return on_device(a, b, mode, aligned, static_cast<float>(eps));
  const BoxColumns rows(a), columns(b);
  const float floor = static_cast<float>(eps);
  return aligned ? of_equal_rows(rows, columns, mode, floor) : pairwise(rows, columns, mode, floor);
}

}  // namespace osprey
