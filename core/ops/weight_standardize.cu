#include "core/backend/cuda/column_sums.cuh"
#include "core/backend/cuda/dispatch.h"
#include "core/ops/weight_standardize_kernel.h"

// A filter's elements are the "rows" of column_sums, the filters its columns.
namespace osprey {
namespace {

template <typename T>
struct WeightTerm {
  const T* weight;
  int64_t size;
  OSPREY_HD void operator()(int64_t k, int64_t filter, double* sums) const {
    sums[0] += static_cast<float>(weight[filter * size + k]);
  }
};

template <typename T>
struct DeviationTerm {
  const T* weight;
  const double* sum;
  int64_t size;
  OSPREY_HD void operator()(int64_t k, int64_t filter, double* sums) const {
    const double d = static_cast<float>(weight[filter * size + k]) - sum[filter] / static_cast<double>(size);
    sums[0] += d * d;
  }
};

struct Measure {
  const double *sum, *m2;
  int64_t size;
  bool std_plus_eps;
  double eps;
  FilterScale<float>* filters;
  OSPREY_HD void operator()(int64_t i) const {
    filters[i] = filter_scale<float>(sum[i] / static_cast<double>(size), m2[i], size, std_plus_eps, eps);
  }
};

template <typename T>
struct GradientTerms {
  const T *weight, *grad_out;
  const FilterScale<float>* filters;
  int64_t size;
  OSPREY_HD void operator()(int64_t k, int64_t filter, double* sums) const {
    const int64_t i = filter * size + k;
    const double g = static_cast<float>(grad_out[i]);
    sums[0] += g;
    sums[1] += g * (static_cast<float>(weight[i]) - filters[filter].mean);
  }
};

const float* data_or_null(const Tensor& tensor) { return tensor.defined() ? tensor.data<float>() : nullptr; }

void forward(const StandardizeArgs& args, Tensor& filters, Tensor& out) {
  const Device device = out.device();
  const int64_t rows = args.weight.dim(0), size = args.weight.dim(1);
  dispatch_cuda(out.dtype(), "weight_standardize", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* w = args.weight.data<T>();
    const Tensor sum = sum_columns_cuda<1, double>(device, size, rows, WeightTerm<T>{w, size});
    const Tensor m2 =
        sum_columns_cuda<1, double>(device, size, rows, DeviationTerm<T>{w, sum.data<double>(), size});
    auto* measured = reinterpret_cast<FilterScale<float>*>(filters.mutable_data<float>());
    parallel_for_cuda(device, rows,
                      Measure{sum.data<double>(), m2.data<double>(), size,
                              args.mode == StandardizeMode::kStdPlusEps, args.eps, measured});
    parallel_rows_cuda(device, rows, size,
                       Standardize<T>{w, size, data_or_null(args.gamma), data_or_null(args.beta), measured,
                                      out.mutable_data<T>()});
  });
}

void backward(const StandardizeArgs& args, const Tensor& filters, const Tensor& grad_out, Tensor& grad) {
  const Device device = grad.device();
  const int64_t rows = args.weight.dim(0), size = args.weight.dim(1);
  dispatch_cuda(grad.dtype(), "weight_standardize backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *w = args.weight.data<T>(), *g = grad_out.data<T>();
    const FilterScale<float>* measured = filters_of<float>(filters);
    const Tensor sums =
        sum_columns_cuda<2, double>(device, size, rows, GradientTerms<T>{w, g, measured, size});
    parallel_rows_cuda(device, rows, size,
                       StandardizeGrad<T>{w, g, rows, size, data_or_null(args.gamma), measured,
                                          sums.data<double>(), grad.mutable_data<T>()});
  });
}

OSPREY_REGISTER_KERNEL(standardize_kernel, DeviceType::kCUDA, forward);
OSPREY_REGISTER_KERNEL(standardize_backward_kernel, DeviceType::kCUDA, backward);

}  // namespace
}  // namespace osprey
