#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// Scalars (shape ()). The halves are summed in f32 (and the result is f32); f32 is summed in f64 and rounded
// once.
Variable sum(const Variable& x);
// 0 for an empty x, with a zero gradient.
Variable mean(const Variable& x);

// Row helpers without gradient, for inference and metrics. x (n, c). softmax_rows returns f32 (f64 for f64).
Tensor softmax_rows(const Tensor& x);
// i64 (n): the largest of the first `columns` (all when < 0) of each row, the first of equals.
Tensor argmax_rows(const Tensor& x, int64_t columns = -1);

}  // namespace osprey
