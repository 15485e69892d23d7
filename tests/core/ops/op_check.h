#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/autograd/variable.h"
#include "tests/devices.h"
#include "tests/golden.h"

namespace osprey::testing {

using Op = std::function<Variable(const Variables&)>;

struct OpRun {
  Tensor value;
  Tensors gradients;  // one per input
};

// Runs op on leaves of `inputs` and backward with `grad` (cast to the result's dtype), all on `device`. The
// results come back to the CPU.
inline OpRun run_op(const Op& op, const Tensors& inputs, const Tensor& grad, Device device = kCPU) {
  Variables leaves;
  for (const Tensor& input : inputs) leaves.emplace_back(input.to(device), /*requires_grad=*/true);
  const Variable y = op(leaves);
  y.backward(grad.to(y.dtype()).to(device));
  OpRun run{y.value().to(kCPU), {}};
  for (const Variable& leaf : leaves) run.gradients.push_back(leaf.grad().to(kCPU));
  return run;
}

// Allowed ||a - exact|| / ||exact|| for results that were computed in f32 and rounded once: half a unit in
// the last place, and for f32 the growth of sums over thousands of terms.
inline double rounding_tolerance(DType dtype) {
  return dtype == DType::kF32 ? 2e-6 : dtype == DType::kF16 ? 4.9e-4 : 3.9e-3;
}

// The op in `dtype`, on every device of the build, against itself in f64 on the same (rounded) numbers: value
// and every gradient. What else the op takes (indices, RoIs) it must bring to the device of its inputs.
inline void expect_agrees_with_f64(const Op& op, const Tensors& inputs, DType dtype) {
  Tensors rounded, exact;
  for (const Tensor& input : inputs) {
    rounded.push_back(input.to(dtype));
    exact.push_back(rounded.back().to(DType::kF64));
  }
  Shape out_shape;
  {
    const NoGradGuard no_grad;
    out_shape = op(Variables(exact.begin(), exact.end())).shape();
  }
  const Tensor grad = uniform(out_shape, -1, 1, /*seed=*/77).to(dtype);
  const OpRun expected = run_op(op, exact, grad);
  for (const Device device : devices_in_build()) {
    const OpRun actual = run_op(op, rounded, grad, device);
    EXPECT_EQ(actual.value.dtype(), dtype);
    EXPECT_LE(relative_l2(actual.value, expected.value), rounding_tolerance(dtype))
        << "value, " << dtype << " on " << device;
    for (size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_LE(relative_l2(actual.gradients[i], expected.gradients[i]), rounding_tolerance(dtype))
          << "gradient " << i << ", " << dtype << " on " << device;
    }
  }
}

// The tolerance that the golden README gives for sums, convolutions, normalisation and their gradients; the
// absolute part grows with the size of the numbers, which near a zero are what has cancelled.
inline void expect_golden(const Tensor& actual, const Tensor& expected, const std::string& what) {
  double squares = 0;
  for (const double v : expected.to_doubles()) squares += v * v;
  const double rms = expected.empty() ? 0 : std::sqrt(squares / static_cast<double>(expected.numel()));
  EXPECT_TRUE(tensor_near(actual, expected, 1e-5 * std::max(1.0, rms), 1e-4)) << what;
}

}  // namespace osprey::testing
