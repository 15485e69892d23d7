#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

enum class OverlapMode { kIoU, kIoF, kGIoU };

// Pairwise overlaps f32 (m, n) of boxes f32 (m, 4) and (n, 4), xyxy in pixels; `aligned` gives (m) of equal
// rows. kIoF divides by the area of the first. The union is floored at eps. Rounded product by product,
// without FMA, on every device: ties between overlaps decide assignments. The result is where `a` is.
Tensor bbox_overlaps(const Tensor& a, const Tensor& b, OverlapMode mode = OverlapMode::kIoU,
                     bool aligned = false, double eps = 1e-6);

}  // namespace osprey
