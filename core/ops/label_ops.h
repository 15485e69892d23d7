#pragma once

#include "core/tensor/tensor.h"

// Arithmetic on integers, i64 on one device.
namespace osprey {

// labels (n), with those that equal `label` replaced by the same element of `replacement` (n).
Tensor replace_label(const Tensor& labels, int64_t label, const Tensor& replacement);

// values[rows], (k). Rows lie in [0, n); they are not looked at.
Tensor gather_integers(const Tensor& values, const Tensor& rows);

}  // namespace osprey
