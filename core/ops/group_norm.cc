#include "core/ops/norm.h"
#include "core/ops/norm_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, double, Tensor&, Tensor&, Tensor&)>
    group_norm_forward_kernel("group_norm");
DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, Tensor&, Tensor&,
                  Tensor&)>
    group_norm_backward_kernel("group_norm backward");

Variable group_norm(const Variable& x, const Variable& weight, const Variable& bias, int64_t groups,
                    double eps) {
  OSPREY_REQUIRE(x.value().rank() >= 2 && is_floating(x.dtype()), "group_norm: x must be (n, ..., c), got ",
                 describe(x.value()));
  const int64_t channels = x.dim(-1);
  OSPREY_REQUIRE(groups > 0 && channels % groups == 0, "group_norm: ", groups, " groups do not divide x ",
                 to_string(x.shape()));
  OSPREY_REQUIRE(weight.shape() == Shape{channels} && bias.shape() == Shape{channels}, "group_norm: weight ",
                 to_string(weight.shape()), " and bias ", to_string(bias.shape()), " beside x ",
                 to_string(x.shape()));
  const DType dtype = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor w = weight.value().to(dtype), b = bias.value().to(dtype);
  const bool empty = x.value().empty();
  const Tensor maps = empty ? x.value() : x.value().reshape({x.dim(0), -1, channels});
  Tensor y = Tensor::empty_like(maps);
  Tensor mean({x.dim(0), groups}, dtype, x.device()), rstd({x.dim(0), groups}, dtype, x.device());
  if (!empty) group_norm_forward_kernel(x.device(), maps, w, b, eps, y, mean, rstd);

  return record("group_norm", y.reshape(x.shape()), {x, weight, bias},
                [maps, w, mean, rstd, empty](const Tensor& g) {
                  Gradients gradients{Tensor::empty_like(maps), Tensor::zeros_like(w), Tensor::zeros_like(w)};
                  if (!empty) {
                    group_norm_backward_kernel(g.device(), g.reshape(maps.shape()), maps, w, mean, rstd,
                                               gradients[0], gradients[1], gradients[2]);
                  }
                  gradients[0] = gradients[0].reshape(g.shape());
                  return gradients;
                });
}

}  // namespace osprey
