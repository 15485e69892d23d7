#pragma once

#include <algorithm>
#include <array>

#include "core/base/parallel.h"
#include "core/ops/map.h"
#include "core/tensor/convert.h"

namespace osprey {
namespace internal {

template <typename Functor, typename T, size_t Arity>
void apply_range(const Functor& f, const std::array<const T*, Arity>& in, T* out, int64_t n) {
  if constexpr (Arity == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[0][i]);
  } else if constexpr (Arity == 2) {
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[0][i], in[1][i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[0][i], in[1][i], in[2][i]);
  }
}

// Halves: blocks that fit the first-level cache are widened, computed in f32 and rounded once.
template <typename Functor, typename Half, size_t Arity>
void apply_half_range(const Functor& f, const std::array<const Half*, Arity>& in, Half* out, int64_t n) {
  constexpr int64_t kBlock = 512;
  float wide[Arity][kBlock];
  float result[kBlock];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    std::array<const float*, Arity> blocks;
    for (size_t k = 0; k < Arity; ++k) {
      widen(in[k] + begin, wide[k], count);
      blocks[k] = wide[k];
    }
    apply_range<Functor, float, Arity>(f, blocks, result, count);
    narrow(result, out + begin, count);
  }
}

}  // namespace internal

template <template <typename> class F>
void map_cpu(const Tensors& inputs, const std::vector<double>& scalars, Tensor& out) {
  dispatch_floating(out.dtype(), "elementwise", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    using Functor = F<C>;
    constexpr size_t kArity = internal::arity<Functor, C>();
    OSPREY_ASSERT(inputs.size() == kArity, "elementwise: ", inputs.size(), " inputs for ", kArity);
    const Functor f = internal::make_functor<Functor, C>(scalars);
    std::array<const T*, kArity> in;
    for (size_t k = 0; k < kArity; ++k) in[k] = inputs[k].template data<T>();
    T* target = out.mutable_data<T>();
    parallel_ranges(out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
      std::array<const T*, kArity> from = in;
      for (auto& pointer : from) pointer += begin;
      if constexpr (std::is_same_v<T, C>) {
        internal::apply_range<Functor, T, kArity>(f, from, target + begin, end - begin);
      } else {
        internal::apply_half_range<Functor, T, kArity>(f, from, target + begin, end - begin);
      }
    });
  });
}

}  // namespace osprey

#define OSPREY_MAP_CPU(F) \
  OSPREY_REGISTER_KERNEL(::osprey::MapKernel<F>::kernel, ::osprey::DeviceType::kCPU, ::osprey::map_cpu<F>)
