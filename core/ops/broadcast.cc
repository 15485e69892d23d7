#include "core/ops/broadcast.h"

#include "core/ops/broadcast_kernel.h"
#include "core/ops/channel_sum.h"
#include "core/ops/elementwise_kernel.h"
#include "core/ops/map.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Tensor&, double, Tensor&)> add_per_image_kernel("add_per_image");
DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, Tensor&)> blend_kernel("blend");
DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, Tensor&, Tensor&, Tensor&)>
    blend_backward_kernel("blend backward");

namespace {

// (n, h, w, c) -> (n, 1, 1, c), f32 or f64.
Tensor image_sums(const Tensor& x) {
  Tensors sums;
  for (int64_t i = 0; i < x.dim(0); ++i) sums.push_back(channel_sum(x[i]).reshape({1, 1, 1, x.dim(3)}));
  const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  return sums.empty() ? Tensor({0, 1, 1, x.dim(3)}, dtype, x.device()) : concat(sums);
}

// scale v at every pixel.
Tensor spread(const Tensor& v, double scale, const Shape& shape) {
  Tensor out(shape, v.dtype(), v.device());
  if (!out.empty()) add_per_image_kernel(out.device(), Tensor(), v, scale, out);
  return out;
}

void check_map(const char* op, const Variable& x) {
  OSPREY_REQUIRE(x.value().rank() == 4 && is_floating(x.dtype()), op, ": x must be (n, h, w, c), got ",
                 describe(x.value()));
}

void check_beside(const char* op, const Variable& x, const Variable& other, const Shape& wanted) {
  OSPREY_REQUIRE(other.shape() == wanted && other.dtype() == x.dtype() && other.device() == x.device(), op,
                 ": ", describe(other.value()), " beside x ", describe(x.value()), " must be ",
                 to_string(wanted));
}

}  // namespace

Variable image_mean(const Variable& x) {
  check_map("image_mean", x);
  OSPREY_REQUIRE(x.dim(1) > 0 && x.dim(2) > 0, "image_mean: no pixels in x ", to_string(x.shape()));
  const double scale = 1 / static_cast<double>(x.dim(1) * x.dim(2));
  const Tensor mean = map<Scale>({image_sums(x.value())}, scale).to(x.dtype());
  return record("image_mean", mean, {x},
                [scale, shape = x.shape()](const Tensor& g) { return Gradients{spread(g, scale, shape)}; });
}

Variable add_per_image(const Variable& x, const Variable& v) {
  check_map("add_per_image", x);
  check_beside("add_per_image", x, v, {x.dim(0), 1, 1, x.dim(3)});
  Tensor out = Tensor::empty_like(x.value());
  if (!out.empty()) add_per_image_kernel(out.device(), x.value(), v.value(), 1, out);
  return record("add_per_image", out, {x, v}, [need_v = v.requires_grad()](const Tensor& g) {
    return Gradients{g, need_v ? image_sums(g) : Tensor()};
  });
}

Variable blend(const Variable& a, const Variable& b, const Variable& gate) {
  check_map("blend", a);
  check_beside("blend", a, b, a.shape());
  check_beside("blend", a, gate, {a.dim(0), a.dim(1), a.dim(2), 1});
  Tensor out = Tensor::empty_like(a.value());
  if (!out.empty()) blend_kernel(out.device(), a.value(), b.value(), gate.value(), out);
  return record("blend", out, {a, b, gate},
                [a = a.value(), b = b.value(), gate = gate.value()](const Tensor& g) {
                  const DType wide = g.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
                  Tensor grad_a = Tensor::empty_like(a), grad_b = Tensor::empty_like(b);
                  Tensor grad_gate = g.empty() ? Tensor::zeros(gate.shape(), wide, gate.device())
                                               : Tensor(gate.shape(), wide, gate.device());
                  if (!g.empty()) {
                    blend_backward_kernel(g.device(), g, a, b, gate, grad_a, grad_b, grad_gate);
                  }
                  return Gradients{grad_a, grad_b, grad_gate};
                });
}

}  // namespace osprey
