#pragma once

#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/pack.cuh"
#include "core/ops/map.h"

namespace osprey {
namespace internal {

// Loads, computes in f32, stores: one element a call.
template <typename Functor, typename T, int Arity>
struct MapElement {
  Functor f;
  const T* in[3];
  T* out;
  OSPREY_HD void operator()(int64_t i) const {
    using C = ComputeType<T>;
    if constexpr (Arity == 1) {
      out[i] = static_cast<T>(f(static_cast<C>(in[0][i])));
    } else if constexpr (Arity == 2) {
      out[i] = static_cast<T>(f(static_cast<C>(in[0][i]), static_cast<C>(in[1][i])));
    } else {
      out[i] =
          static_cast<T>(f(static_cast<C>(in[0][i]), static_cast<C>(in[1][i]), static_cast<C>(in[2][i])));
    }
  }
};

template <typename Functor, typename T, int Arity>
struct MapPack {
  MapElement<Functor, T, Arity> element;
  OSPREY_HD void operator()(int64_t i) const {
    Pack<T> in[Arity], out;
    for (int k = 0; k < Arity; ++k) in[k] = load_pack(element.in[k] + i * Pack<T>::kWidth);
    MapElement<Functor, T, Arity> local{element.f, {}, out.values};
    for (int k = 0; k < Arity; ++k) local.in[k] = in[k].values;
    for (int j = 0; j < Pack<T>::kWidth; ++j) local(j);
    store_pack(out, element.out + i * Pack<T>::kWidth);
  }
};

template <template <typename> class F, typename T>
void map_cuda_typed(const Tensors& inputs, const std::vector<double>& scalars, Tensor& out) {
  using C = ComputeType<T>;
  constexpr int kArity = arity<F<C>, C>();
  OSPREY_ASSERT(static_cast<int>(inputs.size()) == kArity, "elementwise: ", inputs.size(), " inputs for ",
                kArity);
  MapElement<F<C>, T, kArity> element{make_functor<F<C>, C>(scalars), {}, out.mutable_data<T>()};
  bool packs = fits_packs(element.out);
  for (int k = 0; k < kArity; ++k) {
    element.in[k] = inputs[k].template data<T>();
    packs = packs && fits_packs(element.in[k]);
  }
  const int64_t packed = packs ? out.numel() / Pack<T>::kWidth : 0, done = packed * Pack<T>::kWidth;
  parallel_for_cuda(out.device(), packed, MapPack<F<C>, T, kArity>{element});
  element.out += done;
  for (int k = 0; k < kArity; ++k) element.in[k] += done;
  parallel_for_cuda(out.device(), out.numel() - done, element);
}

}  // namespace internal

// f64 lives on the CPU only.
template <template <typename> class F>
void map_cuda(const Tensors& inputs, const std::vector<double>& scalars, Tensor& out) {
  switch (out.dtype()) {
    case DType::kF32:
      return internal::map_cuda_typed<F, float>(inputs, scalars, out);
    case DType::kF16:
      return internal::map_cuda_typed<F, Half>(inputs, scalars, out);
    case DType::kBF16:
      return internal::map_cuda_typed<F, BFloat16>(inputs, scalars, out);
    default:
      throw Error(str_cat("elementwise: no CUDA kernel for ", out.dtype()));
  }
}

}  // namespace osprey

#define OSPREY_MAP_CUDA(F) \
  OSPREY_REGISTER_KERNEL(::osprey::MapKernel<F>::kernel, ::osprey::DeviceType::kCUDA, ::osprey::map_cuda<F>)
