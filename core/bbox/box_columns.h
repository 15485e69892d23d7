#pragma once

#include <vector>

#include "core/bbox/bbox_overlaps.h"

namespace osprey {

// Boxes as one array per coordinate, so that pairwise loops vectorise.
struct BoxColumns {
  // boxes: (n, 4) xyxy on any device; halves are widened to f32.
  explicit BoxColumns(const Tensor& boxes);
  int64_t size() const { return static_cast<int64_t>(x1.size()); }

  std::vector<float> x1, y1, x2, y2, area;
};

// out[j - begin] = overlap of box `i` of `rows` with box j of `columns`, for j in [begin, end). A NaN in
// either box gives NaN. The same pair gives the same bits wherever the range begins.
void overlap_row(const BoxColumns& rows, int64_t i, const BoxColumns& columns, int64_t begin, int64_t end,
                 OverlapMode mode, float eps, float* out);

}  // namespace osprey
