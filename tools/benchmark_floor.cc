#include "tools/benchmark_floor.h"

#include <memory>

#include "core/backend/cpu/onednn.h"

namespace osprey {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;
using onednn::Planned;

memory allocate(const memory::desc& desc) {
  memory block(desc, onednn::engine());
  std::fill_n(static_cast<char*>(block.get_data_handle()), desc.get_size(), 0);
  return block;
}

template <typename P>
std::function<void()> runner(const typename P::primitive_desc& desc, onednn::Args args) {
  const auto plan = std::make_shared<Planned<P>>(desc);
  return [plan, args] { plan->run(args); };
}

void add_layer(const ConvLayer& c, memory::data_type type, FloorConvs& floor) {
  const auto any = [&](const memory::dims& dims) {
    return memory::desc(dims, type, memory::format_tag::any);
  };
  const memory::desc x = any({c.n, c.ci, c.h, c.w}), w = any({c.co, c.ci, c.kernel, c.kernel});
  const memory::desc y = any({c.n, c.co, c.out_h(), c.out_w()});
  const memory::dims stride{c.stride, c.stride}, pad{c.kernel / 2, c.kernel / 2};
  const auto direct = dnnl::algorithm::convolution_direct;
  const convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, x, w, y, stride, pad, pad}, onednn::attributes(),
      onednn::engine());
  const convolution_backward_data::primitive_desc data({direct, x, w, y, stride, pad, pad},
                                                       onednn::attributes(), onednn::engine(), forward);
  const convolution_backward_weights::primitive_desc weights({direct, x, w, y, stride, pad, pad},
                                                             onednn::attributes(), onednn::engine(), forward);
  floor.forward.push_back(
      runner<convolution_forward>(forward, {{DNNL_ARG_SRC, allocate(forward.src_desc())},
                                            {DNNL_ARG_WEIGHTS, allocate(forward.weights_desc())},
                                            {DNNL_ARG_DST, allocate(forward.dst_desc())}}));
  floor.backward.push_back(runner<convolution_backward_weights>(
      weights, {{DNNL_ARG_SRC, allocate(weights.src_desc())},
                {DNNL_ARG_DIFF_DST, allocate(weights.diff_dst_desc())},
                {DNNL_ARG_DIFF_WEIGHTS, allocate(weights.diff_weights_desc())}}));
  if (c.ci == 3) return;  // nobody differentiates by the image
  floor.backward.push_back(
      runner<convolution_backward_data>(data, {{DNNL_ARG_DIFF_DST, allocate(data.diff_dst_desc())},
                                               {DNNL_ARG_WEIGHTS, allocate(data.weights_desc())},
                                               {DNNL_ARG_DIFF_SRC, allocate(data.diff_src_desc())}}));
}

}  // namespace

FloorConvs make_floor_convs(const std::vector<ConvLayer>& layers, DType dtype) {
  FloorConvs floor;
  for (const ConvLayer& layer : layers) add_layer(layer, onednn::type_of(dtype), floor);
  return floor;
}

}  // namespace osprey
