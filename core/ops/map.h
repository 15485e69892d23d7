#pragma once

#include <initializer_list>
#include <vector>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

// Elementwise arithmetic, written once. A functor is a template over its compute type (f32, f64), an
// aggregate of at most three scalars of that type, and callable with one to three values:
//
//   template <typename T> struct SmoothL1 { T beta; OSPREY_HD T operator()(T d) const; };   // in X_kernel.h
//   OSPREY_MAP_CPU(SmoothL1);    // in X_cpu.cc, which includes core/backend/cpu/map_cpu.h
//   OSPREY_MAP_CUDA(SmoothL1);   // in X.cu, which includes core/backend/cuda/map_cuda.cuh
//   Tensor y = map<SmoothL1>({d}, beta);
namespace osprey {

using MapSignature = void(const Tensors& inputs, const std::vector<double>& scalars, Tensor& out);

template <template <typename> class F>
struct MapKernel {
  inline static DeviceKernel<MapSignature> kernel{"elementwise"};
};

// Applies F to every element. Inputs agree in shape, dtype and device; so does the result.
template <template <typename> class F, typename... Scalars>
Tensor map(std::initializer_list<Tensor> inputs, Scalars... scalars) {
  const Tensors all(inputs);
  for (const Tensor& input : all) {
    OSPREY_REQUIRE(input.shape() == all[0].shape() && input.dtype() == all[0].dtype() &&
                       input.device() == all[0].device(),
                   "elementwise: ", describe(input), " beside ", describe(all[0]));
  }
  Tensor out = Tensor::empty_like(all[0]);
  if (out.empty()) return out;
  const OpScope scope(work_context().op ? work_context().op : "elementwise");  // an op's own name tells more
  MapKernel<F>::kernel.get(out.device().type)(all, {static_cast<double>(scalars)...}, out);
  return out;
}

namespace internal {

// Number of scalars in the functor: the largest count its braces accept.
template <typename Functor, typename T>
constexpr int scalar_count() {
  if constexpr (requires { Functor{T{}, T{}, T{}}; })
    return 3;
  else if constexpr (requires { Functor{T{}, T{}}; })
    return 2;
  else if constexpr (requires { Functor{T{}}; })
    return 1;
  else
    return 0;
}

template <typename Functor, typename T>
Functor make_functor(const std::vector<double>& s) {
  constexpr int count = scalar_count<Functor, T>();
  OSPREY_ASSERT(static_cast<int>(s.size()) == count, "elementwise: ", s.size(), " scalars for ", count);
  if constexpr (count == 3)
    return Functor{static_cast<T>(s[0]), static_cast<T>(s[1]), static_cast<T>(s[2])};
  else if constexpr (count == 2)
    return Functor{static_cast<T>(s[0]), static_cast<T>(s[1])};
  else if constexpr (count == 1)
    return Functor{static_cast<T>(s[0])};
  else
    return Functor{};
}

template <typename Functor, typename T>
constexpr int arity() {
  if constexpr (requires(Functor f, T x) { f(x); })
    return 1;
  else if constexpr (requires(Functor f, T x) { f(x, x); })
    return 2;
  else
    return 3;
}

}  // namespace internal
}  // namespace osprey
