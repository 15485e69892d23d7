#pragma once

#include "core/autograd/variable.h"

namespace osprey {

Variable reshape(const Variable& x, Shape shape);
// Joins along dimension 0.
Variable concat(const Variables& parts);
// Rows [begin, end) of dimension 0.
Variable slice_rows(const Variable& x, int64_t begin, int64_t end);
// Rows of dimension 0 by index, i64 (k); indices may repeat. The gradient adds up. Throws Error for an index
// outside [0, n).
Variable gather_rows(const Variable& x, const Tensor& indices);
// x (n, ..., c) -> (n, ...): for row i the channel channels[i], i64 (n). The class-specific masks and boxes
// of RoI heads: mask_pred (n, h, w, classes) -> (n, h, w).
Variable gather_channel(const Variable& x, const Tensor& channels);
// x (n, classes * k) -> (n, k): for row i the group groups[i], i64 (n). Class-specific box deltas, k = 4.
Variable gather_group(const Variable& x, const Tensor& groups, int64_t k);

}  // namespace osprey
