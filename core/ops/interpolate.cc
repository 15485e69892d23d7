#include "core/ops/interpolate.h"

#include "core/ops/interpolate_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, UpsampleMode, Tensor&)> upsample_kernel("upsample");
DeviceKernel<void(const Tensor&, UpsampleMode, Tensor&)> upsample_backward_kernel("upsample backward");

namespace {

Variable upsample(const char* op, const Variable& x, int64_t out_h, int64_t out_w, UpsampleMode mode) {
  const OpScope scope(op);
  OSPREY_REQUIRE(x.value().rank() == 4 && is_floating(x.dtype()), op, ": x must be (n, h, w, c), got ",
                 describe(x.value()));
  OSPREY_REQUIRE(out_h > 0 && out_w > 0 && x.dim(1) > 0 && x.dim(2) > 0, op, ": cannot make ", out_h, "x",
                 out_w, " of x ", to_string(x.shape()));
  if (mode == UpsampleMode::kNearest && x.dim(1) == out_h && x.dim(2) == out_w) return x;
  Tensor y({x.dim(0), out_h, out_w, x.dim(3)}, x.dtype(), x.device());
  if (!y.empty()) upsample_kernel(y.device(), x.value(), mode, y);
  return record(op, y, {x}, [shape = x.shape(), mode](const Tensor& g) {
    Tensor grad_x(shape, g.dtype(), g.device());
    if (!grad_x.empty()) upsample_backward_kernel(g.device(), g, mode, grad_x);
    return Gradients{grad_x};
  });
}

}  // namespace

Variable upsample_nearest(const Variable& x, int64_t out_h, int64_t out_w) {
  return upsample("upsample_nearest", x, out_h, out_w, UpsampleMode::kNearest);
}

Variable upsample_bilinear(const Variable& x, int64_t out_h, int64_t out_w, bool align_corners) {
  return upsample("upsample_bilinear", x, out_h, out_w,
                  align_corners ? UpsampleMode::kBilinearAlignCorners : UpsampleMode::kBilinear);
}

}  // namespace osprey
