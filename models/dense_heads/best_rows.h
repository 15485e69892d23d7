#pragma once

#include "core/ops/row_order.h"

// Which of a level's predictions go on to decoding and NMS.
namespace osprey {

// i64 rows of the boxes f32 (n, 4) whose sides are both at least `min_size` pixels. The host waits for their
// number.
Tensor rows_of_min_size(const Tensor& boxes, double min_size);

}  // namespace osprey
