#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

// Targets f32 (n, classes) on the CPU of labels (n): 1 at the label; a label outside [0, classes), such as
// background, gives a row of zeros.
Tensor expand_onehot_labels(const Tensor& labels, int64_t classes);

}  // namespace osprey
