#include "core/ops/conv2d.h"

#include "core/ops/channel_sum.h"
#include "core/ops/conv2d_kernel.h"
#include "core/ops/elementwise_kernel.h"
#include "core/ops/flop_counter.h"
#include "core/ops/map.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, const Conv2dParams&, Tensor&)>
    conv2d_forward_kernel("conv2d");
DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, const Conv2dParams&, Tensor&)>
    conv2d_backward_data_kernel("conv2d backward data");
DeviceKernel<void(const Tensor&, const Tensor&, const Tensor&, const Conv2dParams&, Tensor*, Tensor*)>
    conv2d_backward_kernel("conv2d backward");

int64_t conv_out_extent(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) {
  const int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1;
  return span < 0 ? 0 : span / stride + 1;
}

Conv2dShape Conv2dShape::of(const Shape& input, const Shape& weight, const Shape& output,
                            const Conv2dParams& params) {
  return {input[0],  input[1],  input[2],  input[3],  output[1],
          output[2], output[3], weight[1], weight[2], params};
}

std::string Conv2dShape::describe() const {
  return str_cat("(", n, ", ", h, ", ", w, ", ", ci, ") with weight (", co, ", ", kh, ", ", kw, ", ",
                 ci / params.groups, "), stride ", params.stride_h, "x", params.stride_w, ", padding ",
                 params.pad_h, "x", params.pad_w, ", dilation ", params.dilation_h, "x", params.dilation_w,
                 ", groups ", params.groups);
}

std::vector<int64_t> Conv2dShape::key(std::initializer_list<int64_t> also) const {
  const Conv2dParams& p = params;
  std::vector<int64_t> key{
      n,  h,          w,          ci,      oh,      ow,           co,           kh,
      kw, p.stride_h, p.stride_w, p.pad_h, p.pad_w, p.dilation_h, p.dilation_w, p.groups};
  key.insert(key.end(), also);
  return key;
}

namespace {

void check_params(const char* op, const Conv2dParams& p) {
  OSPREY_REQUIRE(p.stride_h > 0 && p.stride_w > 0 && p.dilation_h > 0 && p.dilation_w > 0 && p.groups > 0, op,
                 ": stride, dilation and groups must be positive, got ", p.stride_h, "x", p.stride_w, ", ",
                 p.dilation_h, "x", p.dilation_w, ", ", p.groups);
  OSPREY_REQUIRE(p.pad_h >= 0 && p.pad_w >= 0, op, ": padding must not be negative, got ", p.pad_h, "x",
                 p.pad_w);
}

// Channels that must match: those of x against `weight_channels`, and the bias against `out_channels`.
void check_inputs(const char* op, const Variable& x, const Variable& weight, const Variable& bias,
                  const Conv2dParams& params, bool transposed) {
  check_params(op, params);
  OSPREY_REQUIRE(x.value().rank() == 4 && weight.value().rank() == 4, op,
                 ": x must be (n, h, w, c) and weight rank 4, got ", to_string(x.shape()), " and ",
                 to_string(weight.shape()));
  const int64_t taken = transposed ? weight.dim(0) : weight.dim(3) * params.groups;
  const int64_t out = transposed ? weight.dim(3) * params.groups : weight.dim(0);
  OSPREY_REQUIRE(x.dim(3) == taken && weight.dim(0) % params.groups == 0, op, ": x ", to_string(x.shape()),
                 " does not fit weight ", to_string(weight.shape()), " with ", params.groups, " groups");
  OSPREY_REQUIRE(is_floating(weight.dtype()) && x.device() == weight.device(), op, ": x ",
                 describe(x.value()), " beside weight ", describe(weight.value()));
  OSPREY_REQUIRE(!bias.defined() || bias.shape() == Shape{out}, op, ": bias must be (", out, "), got ",
                 bias.defined() ? to_string(bias.shape()) : "");
}

Tensor bias_value(const Variable& bias) { return bias.defined() ? bias.value() : Tensor(); }

Variables inputs_of(const Variable& x, const Variable& weight, const Variable& bias) {
  return bias.defined() ? Variables{x, weight, bias} : Variables{x, weight};
}

// Which gradients a backward pass has to compute, and their order: x, weight and, when there is one, bias.
struct Needs {
  bool x, weight, bias, has_bias;

  Needs(const Variable& x, const Variable& weight, const Variable& bias)
      : x(x.requires_grad()),
        weight(weight.requires_grad()),
        bias(bias.requires_grad()),
        has_bias(bias.defined()) {}

  Gradients collect(Tensor grad_x, Tensor grad_weight, const Tensor& grad_y) const {
    Gradients all{std::move(grad_x), std::move(grad_weight)};
    if (has_bias) all.push_back(bias ? channel_sum(grad_y) : Tensor());
    return all;
  }
};

// Memory for one gradient when it is needed; zero when no kernel will write it.
Tensor make_gradient(bool needed, const Shape& shape, const Tensor& like, bool zero) {
  if (!needed) return {};
  return zero ? Tensor::zeros(shape, like.dtype(), like.device())
              : Tensor(shape, like.dtype(), like.device());
}

// Gradient of the sum behind a relu that gave y, or of the result itself.
Tensor behind_relu(const Tensor& y, const Tensor& g) { return y.defined() ? map<ReluGrad>({y, g}) : g; }

}  // namespace

Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, const Conv2dParams& params) {
  const OpScope scope("conv2d");
  check_inputs("conv2d", x, weight, bias, params, /*transposed=*/false);
  const Shape out_shape{
      x.dim(0), conv_out_extent(x.dim(1), weight.dim(1), params.stride_h, params.pad_h, params.dilation_h),
      conv_out_extent(x.dim(2), weight.dim(2), params.stride_w, params.pad_w, params.dilation_w),
      weight.dim(0)};
  OSPREY_REQUIRE(x.dim(0) == 0 || numel_of(out_shape) > 0, "conv2d: weight ", to_string(weight.shape()),
                 " is larger than the padded x ", to_string(x.shape()));
  const Tensor input = x.value().to(weight.dtype()), kernel = weight.value();
  Tensor y(out_shape, kernel.dtype(), kernel.device());
  if (!y.empty()) conv2d_forward_kernel(y.device(), input, kernel, bias_value(bias), params, y);

  // Each pass multiplies every output element with one filter.
  const int64_t flops = 2 * y.numel() * (kernel.numel() / kernel.dim(0));
  dense_flops() += flops;
  const Needs needs(x, weight, bias);
  return record(params.relu ? "conv2d_relu" : "conv2d", y, inputs_of(x, weight, bias),
                [input = needs.weight ? input : Tensor(), input_shape = input.shape(), kernel, needs, params,
                 flops, cut = params.relu ? y : Tensor()](const Tensor& grad_y) {
                  dense_flops() += flops * (needs.x + needs.weight);
                  const Tensor g = behind_relu(cut, grad_y);
                  Tensor grad_x = make_gradient(needs.x, input_shape, kernel, g.empty());
                  Tensor grad_weight = make_gradient(needs.weight, kernel.shape(), kernel, g.empty());
                  if (!g.empty() && (needs.x || needs.weight)) {
                    conv2d_backward_kernel(g.device(), input, kernel, g, params, needs.x ? &grad_x : nullptr,
                                           needs.weight ? &grad_weight : nullptr);
                  }
                  return needs.collect(grad_x, grad_weight, g);
                });
}

Variable conv_transpose2d(const Variable& x, const Variable& weight, const Variable& bias,
                          const Conv2dParams& params) {
  const OpScope scope("conv_transpose2d");
  check_inputs("conv_transpose2d", x, weight, bias, params, /*transposed=*/true);
  const Conv2dParams& p = params;
  OSPREY_REQUIRE(p.output_pad_h < p.stride_h && p.output_pad_w < p.stride_w,
                 "conv_transpose2d: output padding ", p.output_pad_h, "x", p.output_pad_w,
                 " must be smaller than stride ", p.stride_h, "x", p.stride_w);
  const int64_t oh =
      (x.dim(1) - 1) * p.stride_h - 2 * p.pad_h + p.dilation_h * (weight.dim(1) - 1) + p.output_pad_h + 1;
  const int64_t ow =
      (x.dim(2) - 1) * p.stride_w - 2 * p.pad_w + p.dilation_w * (weight.dim(2) - 1) + p.output_pad_w + 1;
  OSPREY_REQUIRE(oh > 0 && ow > 0, "conv_transpose2d: nothing is left of x ", to_string(x.shape()),
                 " with weight ", to_string(weight.shape()), " after cutting padding ", p.pad_h, "x",
                 p.pad_w);
  const Tensor input = x.value().to(weight.dtype()), kernel = weight.value();
  Tensor y({x.dim(0), oh, ow, weight.dim(3) * p.groups}, kernel.dtype(), kernel.device());
  if (!y.empty()) conv2d_backward_data_kernel(y.device(), input, kernel, bias_value(bias), params, y);

  // The op is the adjoint of a convolution, so that convolution is its gradient by x; and the gradient by the
  // weight is that of the convolution, with the roles of input and output gradient exchanged.
  const int64_t flops = 2 * input.numel() * (kernel.numel() / kernel.dim(0));
  dense_flops() += flops;
  const Needs needs(x, weight, bias);
  return record(
      params.relu ? "conv_transpose2d_relu" : "conv_transpose2d", y, inputs_of(x, weight, bias),
      [input = needs.weight ? input : Tensor(), input_shape = input.shape(), kernel, needs,
       params = params.with_relu(false), flops, cut = params.relu ? y : Tensor()](const Tensor& grad_y) {
        dense_flops() += flops * (needs.x + needs.weight);
        const Tensor g = behind_relu(cut, grad_y);
        Tensor grad_x = make_gradient(needs.x, input_shape, kernel, g.empty());
        Tensor grad_weight = make_gradient(needs.weight, kernel.shape(), kernel, g.empty());
        if (!g.empty() && needs.x) {
          conv2d_forward_kernel(g.device(), g, kernel, Tensor(), params, grad_x);
        }
        if (!g.empty() && needs.weight) {
          conv2d_backward_kernel(g.device(), g, kernel, input, params, nullptr, &grad_weight);
        }
        return needs.collect(grad_x, grad_weight, g);
      });
}

}  // namespace osprey
