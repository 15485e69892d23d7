#include "core/autograd/gradcheck.h"

#include <algorithm>
#include <cmath>

#include "core/base/rng.h"

namespace osprey {
namespace {

Tensor probe_for(const Shape& shape) {
  CounterRng rng(/*seed=*/20240229);
  Tensor probe(shape, DType::kF64);
  double* values = probe.mutable_data<double>();
  for (int64_t i = 0; i < probe.numel(); ++i)
    values[i] = rng.uniform(0.5, 1.5) * (rng.uniform() < 0.5 ? -1 : 1);
  return probe;
}

double probed_value(const std::function<Variable(const Variables&)>& f, const Tensors& inputs,
                    const Tensor& probe) {
  const NoGradGuard no_grad;
  const Tensor out = f(Variables(inputs.begin(), inputs.end())).value();
  const double* a = out.data<double>();
  const double* b = probe.data<double>();
  double sum = 0;
  for (int64_t i = 0; i < out.numel(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

std::string gradcheck(const std::function<Variable(const Variables&)>& f, const Tensors& inputs,
                      const GradcheckOptions& options) {
  Variables leaves;
  for (const Tensor& input : inputs) {
    OSPREY_REQUIRE(input.dtype() == DType::kF64, "gradcheck: inputs must be f64, got ", describe(input));
    leaves.emplace_back(input.clone(), /*requires_grad=*/true);
  }
  const Variable out = f(leaves);
  OSPREY_REQUIRE(out.dtype() == DType::kF64, "gradcheck: the result must be f64, got ",
                 describe(out.value()));
  const Tensor probe = probe_for(out.shape());
  if (out.requires_grad()) out.backward(probe);

  double worst = 0;
  std::string report;
  for (size_t k = 0; k < inputs.size(); ++k) {
    Tensors moved;
    for (const Tensor& input : inputs) moved.push_back(input.clone());
    const double* analytic = leaves[k].grad().defined() ? leaves[k].grad().data<double>() : nullptr;
    for (int64_t i = 0; i < inputs[k].numel(); ++i) {
      const double x = inputs[k].data<double>()[i];
      const double step = options.step * std::max(1.0, std::abs(x));
      moved[k].mutable_data<double>()[i] = x + step;
      const double above = probed_value(f, moved, probe);
      moved[k].mutable_data<double>()[i] = x - step;
      const double below = probed_value(f, moved, probe);
      moved[k].mutable_data<double>()[i] = x;
      const double numeric = (above - below) / (2 * step);
      const double tape = analytic ? analytic[i] : 0;
      const double error = std::abs(numeric - tape) / std::max({1.0, std::abs(numeric), std::abs(tape)});
      if (!(error <= options.tolerance) && !(error <= worst)) {
        worst = error;
        report = str_cat("input ", k, " element ", i, " (x = ", x, "): numeric ", numeric, ", tape ", tape);
      }
    }
  }
  return report;
}

}  // namespace osprey
