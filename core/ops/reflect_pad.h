#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// x (n, h, w, c) -> (n, h + 2 padding, w + 2 padding, c), mirrored at the centres of the border pixels, as
// torch's mode 'reflect'. Maps that are smaller than the padding are mirrored again and again, where torch
// refuses them.
Variable reflect_pad2d(const Variable& x, int64_t padding);

}  // namespace osprey
