#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "core/tensor/tensor.h"

// What the *_onednn.cc files share. Nobody else includes this: the library's header is heavy.
namespace osprey::onednn {

using Args = std::unordered_map<int, dnnl::memory>;

const dnnl::engine& engine();

// f32 and bf16; oneDNN 2.6 knows no f16.
dnnl::memory::data_type type_of(DType dtype);
// The dtype that a tensor of `dtype` is computed in: f16 widens to f32.
inline DType compute_dtype(DType dtype) { return dtype == DType::kF16 ? DType::kF32 : dtype; }

// The tensor's memory under `desc`, without a copy: to read, and to write.
dnnl::memory view(const dnnl::memory::desc& desc, const Tensor& tensor);
dnnl::memory writable(const dnnl::memory::desc& desc, Tensor& tensor);

// Attributes for every primitive here: its scratchpad comes from run().
dnnl::primitive_attr attributes();

// Runs a primitive on this thread's stream, with a scratchpad that the thread keeps. Done on return.
void run(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad, Args args);

// Copies between layouts and between f32 and bf16.
void reorder(const dnnl::memory& from, const dnnl::memory& to);

// A primitive beside the description that tells its layouts.
template <typename P>
struct Planned {
  typename P::primitive_desc desc;
  P primitive;

  explicit Planned(const typename P::primitive_desc& d) : desc(d), primitive(d) {}
  void run(Args args) const { onednn::run(primitive, desc.scratchpad_desc(), std::move(args)); }
};

// Calls f; a failure inside the library becomes an Error "what: oneDNN: status text".
template <typename Describe, typename F>
auto guarded(const Describe& what, const F& f) {
  try {
    return f();
  } catch (const dnnl::error& failure) {
    throw Error(str_cat(what(), ": oneDNN: ", failure.what()));
  }
}

}  // namespace osprey::onednn
