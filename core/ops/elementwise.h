#pragma once

#include "core/autograd/variable.h"

namespace osprey {

// Same shape and dtype on both sides; no broadcasting.
Variable operator+(const Variable& a, const Variable& b);
Variable operator-(const Variable& a, const Variable& b);
Variable operator*(const Variable& a, const Variable& b);

// Scalars. The result keeps x's dtype.
Variable operator*(double scale, const Variable& x);
Variable operator+(const Variable& x, double offset);

Variable relu(const Variable& x);     // gradient 0 at 0
Variable sigmoid(const Variable& x);  // finite for every finite x
Variable exp(const Variable& x);
Variable add_relu(const Variable& a, const Variable& b);  // relu(a + b), the end of a residual block

// Converts the dtype; the gradient is converted back. Returns x itself when nothing changes.
Variable cast(const Variable& x, DType dtype);

}  // namespace osprey
