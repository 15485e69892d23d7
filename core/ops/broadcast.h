#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// Mean over the pixels of each image: x (n, h, w, c) -> (n, 1, 1, c). Sums run in f32 or wider. Throws Error
// for maps without pixels.
Variable image_mean(const Variable& x);

// x + v at every pixel: x (n, h, w, c), v (n, 1, 1, c). Same dtype.
Variable add_per_image(const Variable& x, const Variable& v);

// gate a + (1 - gate) b: a, b (n, h, w, c), gate (n, h, w, 1), one number a pixel. Same dtype.
Variable blend(const Variable& a, const Variable& b, const Variable& gate);

}  // namespace osprey
