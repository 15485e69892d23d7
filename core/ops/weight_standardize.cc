#include "core/ops/weight_standardize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/weight_standardize_kernel.h"

namespace osprey {

DeviceKernel<void(const StandardizeArgs&, Tensor&, Tensor&)> standardize_kernel("weight_standardize");
DeviceKernel<void(const StandardizeArgs&, const Tensor&, const Tensor&, Tensor&)> standardize_backward_kernel(
    "weight_standardize backward");

namespace {

DType wide_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// The dtype the kernels take: on the CPU halves are widened as a whole.
DType kernel_dtype(const Tensor& weight) {
  return weight.device().is_cuda() ? weight.dtype() : wide_dtype(weight.dtype());
}

void check_affine(const char* name, const Tensor& affine, const Tensor& weight) {
  OSPREY_REQUIRE(
      !affine.defined() || (affine.numel() == weight.dim(0) && affine.dtype() == wide_dtype(weight.dtype()) &&
                            affine.device() == weight.device()),
      "weight_standardize: ", name, " ", affine.defined() ? describe(affine) : "", " does not fit weight ",
      describe(weight));
}

}  // namespace

Variable weight_standardize(const Variable& weight, const Tensor& gamma, const Tensor& beta,
                            StandardizeMode mode, double eps) {
  const Tensor& w = weight.value();
  OSPREY_REQUIRE(w.rank() >= 2 && !w.empty() && is_floating(w.dtype()),
                 "weight_standardize: weight must be (co, ...), got ", describe(w));
  check_affine("gamma", gamma, w);
  check_affine("beta", beta, w);
  const int64_t rows = w.dim(0);
  const DType dtype = kernel_dtype(w);
  const StandardizeArgs args{w.to(dtype).reshape({rows, w.numel() / rows}), gamma, beta, mode, eps};
  Tensor filters({rows, 3}, wide_dtype(dtype), w.device());
  Tensor out = Tensor::empty_like(args.weight);
  standardize_kernel(w.device(), args, filters, out);
  return record("weight_standardize", out.to(w.dtype()).reshape(w.shape()), {weight},
                [args, filters, shape = w.shape()](const Tensor& g) {
                  Tensor grad = Tensor::empty_like(args.weight);
                  standardize_backward_kernel(g.device(), args, filters,
                                              g.to(args.weight.dtype()).reshape(args.weight.shape()), grad);
                  return Gradients{grad.reshape(shape)};
                });
}

FilterMoments filter_moments(const Tensor& weight, double eps) {
  OSPREY_REQUIRE(weight.rank() >= 2 && !weight.empty(), "filter_moments: weight must be (co, ...), got ",
                 describe(weight));
  const int64_t rows = weight.dim(0), size = weight.numel() / rows;
  const std::vector<double> values = weight.to_doubles();
  std::vector<float> means, deviations;
  for (int64_t i = 0; i < rows; ++i) {
    const auto begin = values.begin() + i * size, end = begin + size;
    const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(size);
    const double m2 = std::accumulate(begin, end, 0.0,
                                      [mean](double sum, double w) { return sum + (w - mean) * (w - mean); });
    means.push_back(static_cast<float>(mean));
    deviations.push_back(
        static_cast<float>(std::sqrt(m2 / static_cast<double>(std::max<int64_t>(size - 1, 1)) + eps)));
  }
  return {Tensor::from(means, {rows}), Tensor::from(deviations, {rows})};
}

}  // namespace osprey
