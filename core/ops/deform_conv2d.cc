#include "core/ops/deform_conv2d.h"

#include <algorithm>
#include <limits>

#include "core/autograd/accumulate.h"
#include "core/ops/channel_sum.h"
#include "core/ops/conv2d_kernel.h"
#include "core/ops/deform_conv2d_kernel.h"
#include "core/ops/flop_counter.h"

namespace osprey {

DeviceKernel<void(const DeformArgs&, Tensor&)> deform_columns_kernel("deform_conv2d");
DeviceKernel<void(const DeformArgs&, const Tensor&, Tensor*, Tensor*, Tensor*)>
    deform_columns_backward_kernel("deform_conv2d backward");

namespace {

struct Inputs {
  Variable x, offset, mask, weight, bias;  // mask and bias may be undefined
};

struct Operands {
  Tensor x, offset, mask, weight;

  explicit Operands(const Inputs& in)
      : x(in.x.value()),
        offset(in.offset.value()),
        mask(in.mask.defined() ? in.mask.value() : Tensor()),
        weight(in.weight.value()) {}
};

int narrow(int64_t extent) {
  OSPREY_REQUIRE(extent <= std::numeric_limits<int>::max(), "deform_conv2d: extent ", extent,
                 " is too large");
  return static_cast<int>(extent);
}

DeformShape shape_of(const Shape& x, const Shape& weight, const DeformConv2dParams& params) {
  const Conv2dParams& p = params.conv;
  const int64_t oh = conv_out_extent(x[1], weight[1], p.stride_h, p.pad_h, p.dilation_h);
  const int64_t ow = conv_out_extent(x[2], weight[2], p.stride_w, p.pad_w, p.dilation_w);
  narrow(x[0] * oh * ow * params.deform_groups * weight[1] * weight[2]);
  return {narrow(x[1]),         narrow(x[2]),       narrow(x[3]),
          narrow(oh),           narrow(ow),         narrow(weight[1]),
          narrow(weight[2]),    narrow(p.stride_h), narrow(p.stride_w),
          narrow(p.pad_h),      narrow(p.pad_w),    narrow(p.dilation_h),
          narrow(p.dilation_w), narrow(p.groups),   narrow(params.deform_groups)};
}

void check_maps(const char* op, const Inputs& in, const DeformConv2dParams& params) {
  const Conv2dParams& p = params.conv;
  const Variable &x = in.x, &weight = in.weight;
  OSPREY_REQUIRE(p.stride_h > 0 && p.stride_w > 0 && p.dilation_h > 0 && p.dilation_w > 0 && p.groups > 0 &&
                     params.deform_groups > 0 && p.pad_h >= 0 && p.pad_w >= 0,
                 op, ": stride, dilation, groups and deform_groups must be positive, padding not negative");
  OSPREY_REQUIRE(x.value().rank() == 4 && weight.value().rank() == 4, op,
                 ": x must be (n, h, w, c) and weight rank 4, got ", to_string(x.shape()), " and ",
                 to_string(weight.shape()));
  OSPREY_REQUIRE(x.dim(3) == weight.dim(3) * p.groups && weight.dim(0) % p.groups == 0 &&
                     x.dim(3) % params.deform_groups == 0,
                 op, ": x ", to_string(x.shape()), " does not fit weight ", to_string(weight.shape()),
                 " with ", p.groups, " groups and ", params.deform_groups, " deform_groups");
  OSPREY_REQUIRE(is_floating(weight.dtype()) && x.device() == weight.device(), op, ": x ",
                 describe(x.value()), " beside weight ", describe(weight.value()));
  OSPREY_REQUIRE(!in.bias.defined() || in.bias.shape() == Shape{weight.dim(0)}, op, ": bias must be (",
                 weight.dim(0), "), got ", in.bias.defined() ? to_string(in.bias.shape()) : "");
}

void check_samples(const char* op, const Inputs& in, const DeformShape& s) {
  const int64_t n = in.x.dim(0), samples = static_cast<int64_t>(s.deform_groups) * s.taps();
  OSPREY_REQUIRE(n == 0 || (s.oh > 0 && s.ow > 0), op, ": weight ", to_string(in.weight.shape()),
                 " is larger than the padded x ", to_string(in.x.shape()));
  const auto check = [&](const char* name, const Variable& map, int64_t channels) {
    const Shape wanted{n, s.oh, s.ow, channels};
    OSPREY_REQUIRE(map.shape() == wanted && is_floating(map.dtype()) && map.device() == in.x.device(), op,
                   ": ", name, " must be ", to_string(wanted), ", got ", describe(map.value()));
  };
  check("offset", in.offset, 2 * samples);
  if (in.mask.defined()) check("mask", in.mask, samples);
}

// The convolution over columns. The CPU takes the halves as f32, since its compilers do not vectorise their
// conversion one by one, and rounds the result once.
struct Columns {
  DeformArgs args;
  Tensor kernel;         // (co, 1, 1, taps * ci / groups), in x's dtype
  Conv2dParams product;  // 1x1
  int64_t pixels, chunk;

  Columns(const Operands& in, const DeformShape& shape) : pixels(in.x.dim(0) * shape.oh * shape.ow) {
    const DType wide = in.weight.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    const DType dtype = in.x.device().is_cuda() ? in.weight.dtype() : wide;
    args.shape = shape;
    args.x = in.x.to(dtype);
    args.offset = in.offset.to(wide);
    if (in.mask.defined()) args.mask = in.mask.to(wide);
    const int64_t columns_per_group = shape.depth() / shape.groups;
    kernel = in.weight.to(dtype).reshape({in.weight.dim(0), 1, 1, columns_per_group});
    product.groups = shape.groups;
    chunk = chunk_pixels();
  }

  DType compute_dtype() const { return args.offset.dtype(); }

  // f(first, count) for ranges of pixels that cover the output.
  template <typename F>
  void for_each_chunk(const F& f) const {
    for (int64_t first = 0; first < pixels; first += chunk) f(first, std::min(chunk, pixels - first));
  }
  bool single_chunk() const { return chunk >= pixels; }

  Tensor empty(int64_t count) const {
    return Tensor({1, count, 1, args.shape.depth()}, args.x.dtype(), args.x.device());
  }
  Tensor gather(int64_t first, int64_t count) const {
    Tensor columns = empty(count);
    Tensor rows = columns.reshape({count, args.shape.depth()});
    deform_columns_kernel(rows.device(), at(first), rows);
    return columns;
  }
  DeformArgs at(int64_t first) const {
    DeformArgs moved = args;
    moved.first = first;
    return moved;
  }
  // Rows [first, first + count) of a map (n, oh, ow, c), as the product takes them.
  Tensor rows_of(const Tensor& map, int64_t first, int64_t count) const {
    const int64_t channels = map.dim(3);
    return map.reshape({pixels, channels}).slice(first, first + count).reshape({1, count, 1, channels});
  }

 private:
  // CPU: what its cache holds, but so many that adding up the weight's gradient, once a chunk, stays cheap.
  // CUDA: all, within reason.
  int64_t chunk_pixels() const {
    if (args.x.device().is_cuda()) return std::max<int64_t>(1, (int64_t{1} << 28) / args.shape.depth());
    const int64_t cached = (int64_t{1} << 18) / args.shape.depth();
    return std::max<int64_t>({cached, 4 * kernel.numel() / args.shape.depth(), 128});
  }
};

struct Needs {
  bool x, samples, weight, bias;
};

struct ColumnGradients {
  Tensor x, offset, mask, weight;
};

ColumnGradients differentiate(const Columns& columns, const Needs& needs, const Tensor& grad_y) {
  const DeformArgs& args = columns.args;
  const auto zeros = [&](bool needed, const Tensor& like) {
    return needed && like.defined() ? Tensor::zeros(like.shape(), columns.compute_dtype(), like.device())
                                    : Tensor();
  };
  ColumnGradients grads{zeros(needs.x, args.x), zeros(needs.samples, args.offset),
                        zeros(needs.samples, args.mask), Tensor()};
  const auto pointer = [](Tensor& tensor) { return tensor.defined() ? &tensor : nullptr; };
  columns.for_each_chunk([&](int64_t first, int64_t count) {
    const bool through = needs.x || needs.samples;
    Tensor grad_columns = through ? columns.empty(count) : Tensor();
    Tensor grad_kernel = needs.weight ? Tensor::empty_like(columns.kernel) : Tensor();
    conv2d_backward_kernel(grad_y.device(), needs.weight ? columns.gather(first, count) : Tensor(),
                           columns.kernel, columns.rows_of(grad_y, first, count), columns.product,
                           pointer(grad_columns), pointer(grad_kernel));
    if (through) {
      deform_columns_backward_kernel(grad_y.device(), columns.at(first),
                                     grad_columns.reshape({count, args.shape.depth()}), pointer(grads.x),
                                     pointer(grads.offset), pointer(grads.mask));
    }
    if (!needs.weight) return;
    accumulate(grads.weight, columns.single_chunk() ? grad_kernel : grad_kernel.to(columns.compute_dtype()));
  });
  if (needs.weight && !grads.weight.defined()) grads.weight = zeros(true, columns.kernel);
  return grads;
}

Variable deform(const char* op, const Inputs& in, const DeformConv2dParams& params) {
  const OpScope scope(op);
  check_maps(op, in, params);
  const DeformShape shape = shape_of(in.x.shape(), in.weight.shape(), params);
  check_samples(op, in, shape);
  const Operands operands(in);
  const Columns columns(operands, shape);
  const Tensor bias = in.bias.defined() ? in.bias.value().to(columns.compute_dtype()) : Tensor();
  Tensor y({in.x.dim(0), shape.oh, shape.ow, in.weight.dim(0)}, columns.args.x.dtype(), in.x.device());
  columns.for_each_chunk([&](int64_t first, int64_t count) {
    Tensor rows = columns.rows_of(y, first, count);
    conv2d_forward_kernel(y.device(), columns.gather(first, count), columns.kernel, bias, columns.product,
                          rows);
  });
  const int64_t flops = 2 * y.numel() * columns.kernel.dim(3);
  dense_flops() += flops;

  const Needs needs{in.x.requires_grad(), in.offset.requires_grad() || in.mask.requires_grad(),
                    in.weight.requires_grad(), in.bias.requires_grad()};
  Variables inputs{in.x, in.offset, in.weight};
  if (in.mask.defined()) inputs.push_back(in.mask);
  if (in.bias.defined()) inputs.push_back(in.bias);
  // The columns are nine times as large as x: backward gathers them again.
  return record(op, y.to(in.weight.dtype()), inputs,
                [operands, shape, needs, flops, has_bias = in.bias.defined()](const Tensor& g) {
                  dense_flops() += flops * ((needs.x || needs.samples) + needs.weight);
                  const Columns columns(operands, shape);
                  const Tensor grad_y = g.to(columns.args.x.dtype());
                  ColumnGradients grads = differentiate(columns, needs, grad_y);
                  if (needs.weight) grads.weight = grads.weight.reshape(operands.weight.shape());
                  Gradients all{grads.x, grads.offset, grads.weight};
                  if (operands.mask.defined()) all.push_back(grads.mask);
                  if (has_bias) all.push_back(needs.bias ? channel_sum(grad_y) : Tensor());
                  return all;
                });
}

}  // namespace

Variable deform_conv2d(const Variable& x, const Variable& offset, const Variable& weight,
                       const DeformConv2dParams& params) {
  return deform("deform_conv2d", {x, offset, {}, weight, {}}, params);
}

Variable modulated_deform_conv2d(const Variable& x, const Variable& offset, const Variable& mask,
                                 const Variable& weight, const Variable& bias,
                                 const DeformConv2dParams& params) {
  OSPREY_REQUIRE(mask.defined(), "modulated_deform_conv2d: needs a mask");
  return deform("modulated_deform_conv2d", {x, offset, mask, weight, bias}, params);
}

}  // namespace osprey
