#include "core/ops/conv2d_onednn.h"

#include "core/backend/cpu/lru_cache.h"
#include "core/backend/cpu/packed_weight.h"

namespace osprey {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;
using dnnl::prop_kind;
using onednn::Planned;
using onednn::type_of;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr size_t kPlans = 4096;

memory::desc input_desc(const Conv2dShape& s, DType dtype) {
  return {{s.n, s.ci, s.h, s.w}, type_of(dtype), memory::format_tag::nhwc};
}

memory::desc output_desc(const Conv2dShape& s, DType dtype) {
  return {{s.n, s.co, s.oh, s.ow}, type_of(dtype), memory::format_tag::nhwc};
}

memory::desc bias_desc(const Conv2dShape& s, bool present) {
  return present ? memory::desc({s.co}, memory::data_type::f32, memory::format_tag::a) : memory::desc();
}

memory::dims weight_dims(const Conv2dShape& s) {
  const int64_t g = s.params.groups;
  if (g == 1) return {s.co, s.ci, s.kh, s.kw};
  return {g, s.co / g, s.ci / g, s.kh, s.kw};
}

// The layout that a primitive chooses for itself: oneDNN runs its reference code, a thousand times slower,
// for plain OHWI.
memory::desc any_weight_desc(const Conv2dShape& s, DType dtype) {
  return {weight_dims(s), type_of(dtype), memory::format_tag::any};
}

// The layout our weights lie in.
memory::desc plain_weight_desc(const Conv2dShape& s, DType dtype) {
  return {weight_dims(s), type_of(dtype),
          s.params.groups == 1 ? memory::format_tag::ohwi : memory::format_tag::gohwi};
}

memory::dims strides(const Conv2dShape& s) { return {s.params.stride_h, s.params.stride_w}; }
memory::dims dilations(const Conv2dShape& s) { return {s.params.dilation_h - 1, s.params.dilation_w - 1}; }
memory::dims padding(const Conv2dShape& s) { return {s.params.pad_h, s.params.pad_w}; }

LruCache<int>::Key key_of(const Conv2dShape& s, DType dtype, bool option) {
  return s.key({static_cast<int64_t>(dtype), option});
}

convolution_forward::primitive_desc forward_desc(const Conv2dShape& s, DType dtype, bool bias) {
  const convolution_forward::desc desc(prop_kind::forward_training, kDirect, input_desc(s, dtype),
                                       any_weight_desc(s, dtype), bias_desc(s, bias), output_desc(s, dtype),
                                       strides(s), dilations(s), padding(s), padding(s));
  return {desc, onednn::attributes(), onednn::engine()};
}

auto forward_plan(const Conv2dShape& s, DType dtype, bool bias) {
  static LruCache<Planned<convolution_forward>> plans(kPlans);
  return plans.get(key_of(s, dtype, bias),
                   [&] { return Planned<convolution_forward>(forward_desc(s, dtype, bias)); });
}

auto backward_data_plan(const Conv2dShape& s, DType dtype, DType result) {
  static LruCache<Planned<convolution_backward_data>> plans(kPlans);
  return plans.get(key_of(s, dtype, dtype != result), [&] {
    const convolution_backward_data::desc desc(kDirect, input_desc(s, result), any_weight_desc(s, dtype),
                                               output_desc(s, dtype), strides(s), dilations(s), padding(s),
                                               padding(s));
    return Planned<convolution_backward_data>(
        {desc, onednn::attributes(), onednn::engine(), forward_desc(s, dtype, false)});
  });
}

// The weight's gradient is always f32: bf16 would round the partial sums of the threads.
auto backward_weight_plan(const Conv2dShape& s, DType dtype) {
  static LruCache<Planned<convolution_backward_weights>> plans(kPlans);
  return plans.get(key_of(s, dtype, false), [&] {
    const convolution_backward_weights::desc desc(kDirect, input_desc(s, dtype),
                                                  any_weight_desc(s, DType::kF32), output_desc(s, dtype),
                                                  strides(s), dilations(s), padding(s), padding(s));
    return Planned<convolution_backward_weights>(
        {desc, onednn::attributes(), onednn::engine(), forward_desc(s, dtype, false)});
  });
}

}  // namespace

void conv2d_forward_onednn(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dShape& s,
                           Tensor& y) {
  onednn::guarded([&] { return "conv2d of " + s.describe(); },
                  [&] {
                    const auto plan = forward_plan(s, x.dtype(), bias.defined());
                    const Tensor bias32 = bias.defined() ? bias.to(DType::kF32) : Tensor();
                    onednn::Args args{
                        {DNNL_ARG_SRC, onednn::view(plan->desc.src_desc(), x)},
                        {DNNL_ARG_WEIGHTS, onednn::packed_weight(weight, plain_weight_desc(s, x.dtype()),
                                                                 plan->desc.weights_desc())},
                        {DNNL_ARG_DST, onednn::writable(plan->desc.dst_desc(), y)}};
                    if (bias.defined())
                      args.insert({DNNL_ARG_BIAS, onednn::view(bias_desc(s, true), bias32)});
                    plan->run(std::move(args));
                  });
}

void conv2d_backward_data_onednn(const Tensor& grad_y, const Tensor& weight, const Conv2dShape& s,
                                 Tensor& grad_x) {
  onednn::guarded(
      [&] { return "backward by x of conv2d of " + s.describe(); },
      [&] {
        const auto plan = backward_data_plan(s, grad_y.dtype(), grad_x.dtype());
        plan->run({{DNNL_ARG_DIFF_DST, onednn::view(plan->desc.diff_dst_desc(), grad_y)},
                   {DNNL_ARG_WEIGHTS, onednn::packed_weight(weight, plain_weight_desc(s, grad_y.dtype()),
                                                            plan->desc.weights_desc())},
                   {DNNL_ARG_DIFF_SRC, onednn::writable(plan->desc.diff_src_desc(), grad_x)}});
      });
}

void conv2d_backward_weight_onednn(const Tensor& x, const Tensor& grad_y, const Conv2dShape& s,
                                   Tensor& grad_weight) {
  onednn::guarded([&] { return "backward by weight of conv2d of " + s.describe(); },
                  [&] {
                    const auto plan = backward_weight_plan(s, x.dtype());
                    const memory::desc layout = plan->desc.diff_weights_desc();
                    const memory result =
                        onednn::writable(plain_weight_desc(s, grad_weight.dtype()), grad_weight);
                    const bool direct = layout == result.get_desc();
                    Tensor packed;
                    if (!direct) packed = Tensor({static_cast<int64_t>(layout.get_size())}, DType::kU8);
                    const memory target = direct ? result : onednn::writable(layout, packed);
                    plan->run({{DNNL_ARG_SRC, onednn::view(plan->desc.src_desc(), x)},
                               {DNNL_ARG_DIFF_DST, onednn::view(plan->desc.diff_dst_desc(), grad_y)},
                               {DNNL_ARG_DIFF_WEIGHTS, target}});
                    if (!direct) onednn::reorder(target, result);
                  });
}

}  // namespace osprey
