#include "core/backend/cpu/onednn.h"

namespace osprey::onednn {
namespace {

// Heads on RoIs and multi-scale training make new shapes at almost every step.
constexpr int kPrimitiveCacheCapacity = 4096;

dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

// Grows to the largest scratchpad that this thread has needed.
void* scratchpad(size_t bytes) {
  thread_local Tensor buffer;
  if (!buffer.defined() || buffer.bytes() < bytes) {
    buffer = Tensor();  // released before the larger one is asked for
    buffer = Tensor({static_cast<int64_t>(bytes)}, DType::kU8);
  }
  return buffer.mutable_raw();
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine instance = [] {
    dnnl::set_primitive_cache_capacity(kPrimitiveCacheCapacity);
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return instance;
}

dnnl::memory::data_type type_of(DType dtype) {
  OSPREY_ASSERT(dtype == DType::kF32 || dtype == DType::kBF16, "oneDNN has no ", dtype);
  return dtype == DType::kF32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

dnnl::memory view(const dnnl::memory::desc& desc, const Tensor& tensor) {
  return dnnl::memory(desc, engine(), const_cast<void*>(tensor.raw()));
}

dnnl::memory writable(const dnnl::memory::desc& desc, Tensor& tensor) {
  return dnnl::memory(desc, engine(), tensor.mutable_raw());
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void run(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad_desc, Args args) {
  if (const size_t bytes = scratchpad_desc.get_size(); bytes > 0) {
    args.insert({DNNL_ARG_SCRATCHPAD, dnnl::memory(scratchpad_desc, engine(), scratchpad(bytes))});
  }
  primitive.execute(stream(), args);
  stream().wait();
}

void reorder(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(from, to, attributes());
  run(dnnl::reorder(desc), desc.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

}  // namespace osprey::onednn
