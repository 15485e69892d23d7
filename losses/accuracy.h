#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// Percentage of rows whose label is among the topk largest scores (of equal scores the first wins), f32
// scalar; 0 for no rows. pred (n, c) of any floating dtype, labels i64 (n); a label outside [0, c) is never
// hit. A row with a NaN counts as wrong: a broken network must not look accurate.
Tensor accuracy(const Variable& pred, const Tensor& labels, int64_t topk = 1);

}  // namespace osprey
