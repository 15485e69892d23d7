#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// Maps (n, h, w, c_i) -> (n, h, w, sum of c_i). Parts agree in n, h, w, dtype and device; one at least.
Variable concat_channels(const Variables& parts);
// Channels [begin, end) of x (n, h, w, c).
Variable slice_channels(const Variable& x, int64_t begin, int64_t end);

}  // namespace osprey
