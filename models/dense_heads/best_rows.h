#pragma once

#include "core/tensor/tensor.h"

// Which of a level's predictions go on to decoding and NMS.
namespace osprey {

// i64 rows of the `count` highest scores f32 (n), highest first, ties in input order; NaN comes last.
Tensor top_rows(const Tensor& scores, int64_t count);

// i64 rows of the boxes f32 (n, 4) whose sides are both at least `min_size` pixels.
Tensor rows_of_min_size(const Tensor& boxes, double min_size);

}  // namespace osprey
