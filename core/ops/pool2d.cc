#include "core/ops/pool2d.h"

#include <algorithm>
#include <limits>

#include "core/ops/pool2d_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Pool2dShape&, Tensor&, Tensor&)> max_pool2d_kernel("max_pool2d");
DeviceKernel<void(const Tensor&, const Tensor&, const Pool2dShape&, Tensor&)> max_pool2d_backward_kernel(
    "max_pool2d backward");
DeviceKernel<void(const Tensor&, const Pool2dShape&, Tensor&)> avg_pool2d_kernel("avg_pool2d");
DeviceKernel<void(const Tensor&, const Pool2dShape&, Tensor&)> avg_pool2d_backward_kernel(
    "avg_pool2d backward");

namespace {

int64_t pool_out_extent(int64_t in, const Pool2dParams& p) {
  const int64_t span = in + 2 * p.padding - p.kernel;
  if (span < 0) return 0;
  if (!p.ceil_mode) return span / p.stride + 1;
  const int64_t out = (span + p.stride - 1) / p.stride + 1;
  // A last window that would start in the far padding sees nothing.
  return (out - 1) * p.stride >= in + p.padding ? out - 1 : out;
}

PoolAxis axis_of(int64_t in, const Pool2dParams& p) {
  return {in, pool_out_extent(in, p), p.kernel, p.stride, p.padding, false};
}

void check_map(const char* op, const Variable& x) {
  OSPREY_REQUIRE(x.value().rank() == 4 && is_floating(x.dtype()), op, ": x must be (n, h, w, c), got ",
                 describe(x.value()));
}

Pool2dShape shape_of(const char* op, const Variable& x, const Pool2dParams& p) {
  check_map(op, x);
  OSPREY_REQUIRE(p.kernel > 0 && p.stride > 0 && p.padding >= 0 && 2 * p.padding <= p.kernel, op,
                 ": needs a positive kernel and stride and a padding of at most half the kernel, got ",
                 p.kernel, ", ", p.stride, ", ", p.padding);
  const Pool2dShape shape{x.dim(0), x.dim(3), axis_of(x.dim(1), p), axis_of(x.dim(2), p),
                          p.count_include_pad};
  OSPREY_REQUIRE(shape.y.out > 0 && shape.x.out > 0, op, ": kernel ", p.kernel,
                 " is larger than the padded x ", to_string(x.shape()));
  return shape;
}

Tensor make_output(const Pool2dShape& s, const Tensor& x) {
  return Tensor({s.n, s.y.out, s.x.out, s.channels}, x.dtype(), x.device());
}

Tensor make_gradient(const Pool2dShape& s, const Tensor& g) {
  return Tensor({s.n, s.y.in, s.x.in, s.channels}, g.dtype(), g.device());
}

Variable average(const char* op, const Variable& x, const Pool2dShape& shape) {
  Tensor y = make_output(shape, x.value());
  if (!y.empty()) avg_pool2d_kernel(y.device(), x.value(), shape, y);
  return record(op, y, {x}, [shape](const Tensor& g) {
    Tensor grad_x = make_gradient(shape, g);
    if (!grad_x.empty()) avg_pool2d_backward_kernel(g.device(), g, shape, grad_x);
    return Gradients{grad_x};
  });
}

}  // namespace

Variable max_pool2d(const Variable& x, const Pool2dParams& params) {
  const Pool2dShape shape = shape_of("max_pool2d", x, params);
  OSPREY_REQUIRE(shape.y.in * shape.x.in <= std::numeric_limits<int32_t>::max(), "max_pool2d: x ",
                 to_string(x.shape()), " has too many pixels");
  Tensor y = make_output(shape, x.value());
  Tensor index(y.shape(), DType::kI32, y.device());
  if (!y.empty()) max_pool2d_kernel(y.device(), x.value(), shape, y, index);
  return record("max_pool2d", y, {x}, [shape, index](const Tensor& g) {
    Tensor grad_x = make_gradient(shape, g);
    if (!grad_x.empty()) max_pool2d_backward_kernel(g.device(), g, index, shape, grad_x);
    return Gradients{grad_x};
  });
}

Variable avg_pool2d(const Variable& x, const Pool2dParams& params) {
  return average("avg_pool2d", x, shape_of("avg_pool2d", x, params));
}

Variable adaptive_avg_pool2d(const Variable& x, int64_t out_h, int64_t out_w) {
  check_map("adaptive_avg_pool2d", x);
  OSPREY_REQUIRE(out_h > 0 && out_w > 0 && x.dim(1) > 0 && x.dim(2) > 0, "adaptive_avg_pool2d: cannot make ",
                 out_h, "x", out_w, " of x ", to_string(x.shape()));
  return average(
      "adaptive_avg_pool2d", x,
      {x.dim(0), x.dim(3), {x.dim(1), out_h, 0, 0, 0, true}, {x.dim(2), out_w, 0, 0, 0, true}, false});
}

}  // namespace osprey
