#include <vector>

#include "core/backend/cpu/launch.h"
#include "core/ops/weight_standardize_kernel.h"

// f32 and f64: the op widens the halves as a whole.
namespace osprey {
namespace {

template <typename T>
FilterScale<T> measure(const T* w, int64_t size, bool std_plus_eps, double eps) {
  double sum = 0, m2 = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += w[i];
  const double mean = sum / static_cast<double>(size);
#pragma omp simd reduction(+ : m2)
  for (int64_t i = 0; i < size; ++i) m2 += (w[i] - mean) * (w[i] - mean);
  return filter_scale<T>(mean, m2, size, std_plus_eps, eps);
}

template <typename T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

template <typename T>
void forward_as(const StandardizeArgs& args, Tensor& filters, Tensor& out) {
  const int64_t rows = args.weight.dim(0), size = args.weight.dim(1);
  const T* w = args.weight.data<T>();
  auto* measured = reinterpret_cast<FilterScale<T>*>(filters.mutable_data<T>());
  const Standardize<T> row{
      w, size, data_or_null<T>(args.gamma), data_or_null<T>(args.beta), measured, out.mutable_data<T>()};
  parallel_rows_cpu(rows, size, [&](int64_t i, int64_t begin, int64_t end) {
    measured[i] = measure(w + i * size, size, args.mode == StandardizeMode::kStdPlusEps, args.eps);
    row(i, begin, end);
  });
}

template <typename T>
void backward_as(const StandardizeArgs& args, const Tensor& filters, const Tensor& grad_out, Tensor& grad) {
  const int64_t rows = args.weight.dim(0), size = args.weight.dim(1);
  const T *w = args.weight.data<T>(), *g = grad_out.data<T>();
  std::vector<double> sums(static_cast<size_t>(2 * rows));
  const StandardizeGrad<T> row{w,
                               g,
                               rows,
                               size,
                               data_or_null<T>(args.gamma),
                               filters_of<T>(filters),
                               sums.data(),
                               grad.mutable_data<T>()};
  parallel_rows_cpu(rows, size, [&](int64_t i, int64_t begin, int64_t end) {
    double sum = 0, product = 0;
    const double mean = row.filters[i].mean;
#pragma omp simd reduction(+ : sum, product)
    for (int64_t k = i * size; k < (i + 1) * size; ++k) {
      sum += g[k];
      product += g[k] * (w[k] - mean);
    }
    sums[i] = sum;
    sums[rows + i] = product;
    row(i, begin, end);
  });
}

void forward(const StandardizeArgs& args, Tensor& filters, Tensor& out) {
  const bool f64 = args.weight.dtype() == DType::kF64;
  (f64 ? forward_as<double> : forward_as<float>)(args, filters, out);
}

void backward(const StandardizeArgs& args, const Tensor& filters, const Tensor& grad_out, Tensor& grad) {
  const bool f64 = args.weight.dtype() == DType::kF64;
  (f64 ? backward_as<double> : backward_as<float>)(args, filters, grad_out, grad);
}

OSPREY_REGISTER_KERNEL(standardize_kernel, DeviceType::kCPU, forward);
OSPREY_REGISTER_KERNEL(standardize_backward_kernel, DeviceType::kCPU, backward);

}  // namespace
}  // namespace osprey
