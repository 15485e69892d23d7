#pragma once

#include <functional>
#include <string>

#include "core/autograd/variable.h"

namespace osprey {

struct GradcheckOptions {
  double step = 1e-6;       // central difference, relative to max(1, |x|)
  double tolerance = 1e-6;  // |numeric - analytic| <= tolerance * max(1, |numeric|, |analytic|)
};

// Compares the tape's gradients of sum(probe * f(inputs)) with central differences in f64; probe is a fixed
// pseudo-random tensor, so that no output cancels another. Inputs are f64 tensors; each is checked element by
// element. Returns "" when all agree, else one line naming the worst element. f must be deterministic.
std::string gradcheck(const std::function<Variable(const Variables&)>& f, const Tensors& inputs,
                      const GradcheckOptions& options = {});

}  // namespace osprey

// EXPECT_GRADCHECK([](const Variables& in) { return smooth_l1(in[0], 0.5); }, Tensors{diff});
#define EXPECT_GRADCHECK(...) EXPECT_EQ(::osprey::gradcheck(__VA_ARGS__), "")
