#include "core/ops/reflect_pad.h"

#include "core/ops/reflect_pad_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const ReflectShape&, Tensor&)> reflect_pad_kernel("reflect_pad2d");
DeviceKernel<void(const Tensor&, const ReflectShape&, Tensor&)> reflect_pad_backward_kernel(
    "reflect_pad2d backward");

Variable reflect_pad2d(const Variable& x, int64_t padding) {
  OSPREY_REQUIRE(
      x.value().rank() == 4 && is_floating(x.dtype()) && padding >= 0 && x.dim(1) > 0 && x.dim(2) > 0,
      "reflect_pad2d: x must be (n, h, w, c) with pixels and padding not negative, got ", describe(x.value()),
      " and ", padding);
  const ReflectShape shape{x.dim(1), x.dim(2), x.dim(3), padding};
  Tensor out({x.dim(0), x.dim(1) + 2 * padding, x.dim(2) + 2 * padding, x.dim(3)}, x.dtype(), x.device());
  if (!out.empty()) reflect_pad_kernel(out.device(), x.value(), shape, out);
  return record("reflect_pad2d", out, {x}, [shape, from = x.shape()](const Tensor& g) {
    Tensor grad_x(from, g.dtype(), g.device());
    if (!g.empty()) reflect_pad_backward_kernel(g.device(), g, shape, grad_x);
    return Gradients{grad_x};
  });
}

}  // namespace osprey
