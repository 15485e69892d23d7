#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// Softmax over the pixels of each image: logits (n, h, w, 1) -> weights (n, h, w, 1) that sum to 1, in f32
// (f64 for f64). Throws Error for maps without pixels.
Variable pixel_softmax(const Variable& logits);

}  // namespace osprey
