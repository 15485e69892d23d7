#include "core/bbox/bbox_overlaps.h"

#include <algorithm>

#include "core/base/parallel.h"
#include "core/bbox/box_columns.h"

namespace osprey {

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
  OSPREY_REQUIRE(a.size() == b.size(), "bbox_overlaps: aligned boxes must be as many on both sides, got ",
                 a.size(), " and ", b.size());
  Tensor overlaps({a.size()}, DType::kF32);
  float* out = overlaps.mutable_data<float>();
  for (int64_t i = 0; i < a.size(); ++i) overlap_row(a, i, b, i, i + 1, mode, eps, out + i);
  return overlaps;
}

}  // namespace

Tensor bbox_overlaps(const Tensor& a, const Tensor& b, OverlapMode mode, bool aligned, double eps) {
  const BoxColumns rows(a), columns(b);
  const float floor = static_cast<float>(eps);
  return aligned ? of_equal_rows(rows, columns, mode, floor) : pairwise(rows, columns, mode, floor);
}

}  // namespace osprey
