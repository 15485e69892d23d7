#pragma once

#include "core/tensor/tensor.h"

namespace osprey {

// What the op read whose event an OpObserver is being shown (variable.h): forward its inputs, backward the
// gradient of its output (the sum, where several ops read it). Undefined ones are left out. Empty outside an
// observer's call.
Tensors observed_inputs();

}  // namespace osprey
