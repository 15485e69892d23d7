#include "core/ops/reduce.h"

#include "core/ops/elementwise_kernel.h"
#include "core/ops/map.h"
#include "core/ops/reduce_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, Tensor&)> sum_kernel("sum");
DeviceKernel<void(const Tensor&, double, Tensor&)> broadcast_kernel("sum backward");
DeviceKernel<void(const Tensor&, Tensor&)> softmax_rows_kernel("softmax_rows");
DeviceKernel<void(const Tensor&, int64_t, Tensor&)> argmax_rows_kernel("argmax_rows");

namespace {

DType compute_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }

// scale * sum of x; its gradient is `scale` everywhere.
Variable scaled_sum(const char* op, const Variable& x, double scale) {
  OSPREY_REQUIRE(is_floating(x.dtype()), op, ": needs a floating dtype, got ", describe(x.value()));
  const DType dtype = compute_dtype(x.dtype());
  Tensor total = Tensor::zeros({}, dtype, x.device());
  if (!x.value().empty()) sum_kernel(x.device(), x.value(), total);
  if (scale != 1) total = map<Scale>({total}, scale);
  return record(op, total, {x}, [scale, dtype, shape = x.shape(), x_dtype = x.dtype()](const Tensor& g) {
    Tensor grad_x(shape, x_dtype, g.device());
    if (!grad_x.empty()) broadcast_kernel(g.device(), g.to(dtype), scale, grad_x);
    return Gradients{grad_x};
  });
}

void check_rows(const char* op, const Tensor& x) {
  OSPREY_REQUIRE(x.rank() == 2 && is_floating(x.dtype()) && (x.dim(0) == 0 || x.dim(1) > 0), op,
                 ": x must be (n, c), got ", describe(x));
}

}  // namespace

Variable sum(const Variable& x) { return scaled_sum("sum", x, 1); }

Variable mean(const Variable& x) {
  return scaled_sum("mean", x, 1.0 / static_cast<double>(std::max<int64_t>(x.numel(), 1)));
}

Tensor softmax_rows(const Tensor& x) {
  check_rows("softmax_rows", x);
  Tensor out(x.shape(), compute_dtype(x.dtype()), x.device());
  if (!out.empty()) softmax_rows_kernel(x.device(), x, out);
  return out;
}

Tensor argmax_rows(const Tensor& x, int64_t columns) {
  check_rows("argmax_rows", x);
  if (columns < 0) columns = x.dim(1);
  OSPREY_REQUIRE(x.dim(0) == 0 || (columns > 0 && columns <= x.dim(1)), "argmax_rows: ", columns,
                 " columns of x ", to_string(x.shape()));
  Tensor out({x.dim(0)}, DType::kI64, x.device());
  if (!out.empty()) argmax_rows_kernel(x.device(), x, columns, out);
  return out;
}

}  // namespace osprey
