#pragma once

#include "core/ops/conv2d_kernel.h"

namespace osprey {

// Convolution by its definition, in double. For gradcheck, and to judge the libraries' results.
void conv2d_forward_f64(const double* x, const double* weight, const double* bias, const Conv2dShape& shape,
                        double* y);
void conv2d_backward_data_f64(const double* grad_y, const double* weight, const double* bias,
                              const Conv2dShape& shape, double* grad_x);
void conv2d_backward_weight_f64(const double* x, const double* grad_y, const Conv2dShape& shape,
                                double* grad_weight);

}  // namespace osprey
