#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

// Sum over all dimensions but the last: the gradient of a bias. x (..., c) -> (c), f32 (f64 for f64), summed
// in double between blocks. Zeros for an empty x.
Tensor channel_sum(const Tensor& x);

}  // namespace osprey
