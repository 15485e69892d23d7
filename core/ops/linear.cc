#include "core/ops/linear.h"

#include "core/ops/channel_sum.h"
#include "core/ops/flop_counter.h"
#include "core/ops/linear_kernel.h"

namespace osprey {

DeviceKernel<void(const MatmulArgs&, Tensor&)> matmul_kernel("matmul");

namespace {

// op(a) op(b) + bias. Whatever is summed over nothing is the bias alone.
Tensor multiply(const MatmulArgs& args) {
  const int64_t m = args.a.dim(args.transpose_a ? 1 : 0), k = args.a.dim(args.transpose_a ? 0 : 1);
  const int64_t n = args.b.dim(args.transpose_b ? 0 : 1);
  Tensor c({m, n}, args.a.dtype(), args.a.device());
  if (c.empty()) return c;
  if (k == 0) {
    OSPREY_REQUIRE(!args.bias.defined(), "linear: x has no features");
    c.fill(0);
    return c;
  }
  dense_flops() += 2 * m * n * k;
  matmul_kernel(c.device(), args, c);
  return c;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b) {
  OSPREY_REQUIRE(a.rank() == 2 && b.rank() == 2 && a.dtype() == b.dtype() && is_floating(a.dtype()) &&
                     a.dim(transpose_a ? 0 : 1) == b.dim(transpose_b ? 1 : 0),
                 "matmul: ", describe(a), transpose_a ? " transposed" : "", " times ", describe(b),
                 transpose_b ? " transposed" : "");
  return multiply({a, b, transpose_a, transpose_b, {}, false});
}

Variable linear(const Variable& x, const Variable& weight, const Variable& bias) {
  const OpScope scope("linear");
  OSPREY_REQUIRE(x.value().rank() >= 1 && weight.value().rank() == 2,
                 "linear: x must be (n, ...) and weight (out, in), got ", to_string(x.shape()), " and ",
                 to_string(weight.shape()));
  const int64_t rows = x.dim(0), features = weight.dim(1);
  OSPREY_REQUIRE(x.numel() == rows * features, "linear: x ", to_string(x.shape()), " does not fit weight ",
                 to_string(weight.shape()));
  OSPREY_REQUIRE(is_floating(weight.dtype()) && x.device() == weight.device(), "linear: x ",
                 describe(x.value()), " beside weight ", describe(weight.value()));
  OSPREY_REQUIRE(!bias.defined() || bias.shape() == Shape{weight.dim(0)}, "linear: bias must be (",
                 weight.dim(0), "), got ", bias.defined() ? to_string(bias.shape()) : "");

  const Tensor w = weight.value();
  const Tensor input = x.value().to(w.dtype()).reshape({rows, features});
  Tensor y = multiply({input, w, false, true, bias.defined() ? bias.value() : Tensor(), true});
  const bool need_x = x.requires_grad(), need_w = weight.requires_grad(), need_b = bias.requires_grad();
  const Variables inputs = bias.defined() ? Variables{x, weight, bias} : Variables{x, weight};
  return record("linear", y, inputs,
                [input = need_w ? input : Tensor(), x_shape = x.shape(), w, need_x, need_w, need_b,
                 arity = inputs.size()](const Tensor& g) {
                  Gradients gradients(arity);
                  if (need_x) gradients[0] = multiply({g, w, false, false, {}, true}).reshape(x_shape);
                  if (need_w) gradients[1] = multiply({g, input, true, false, {}, false});
                  if (need_b) gradients[2] = channel_sum(g);
                  return gradients;
                });
}

}  // namespace osprey
