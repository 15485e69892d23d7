#pragma once

#include "core/ops/interpolate_kernel.h"

// Which functor serves which mode; the CPU and CUDA files bring dtype dispatch and launcher.
namespace osprey {

// launch(rows, channels, functor).
template <typename T, int kLanes, typename Launch>
void launch_upsample(const Tensor& x, UpsampleMode mode, Tensor& y, const Launch& launch) {
  using C = ComputeType<T>;
  const int64_t rows = y.dim(0) * y.dim(1) * y.dim(2), channels = y.dim(3);
  const bool align = mode == UpsampleMode::kBilinearAlignCorners;
  if (mode == UpsampleMode::kNearest) {
    launch(rows, channels,
           UpsampleNearestForward<T>{NearestAxis<C>::of(x.dim(1), y.dim(1)),
                                     NearestAxis<C>::of(x.dim(2), y.dim(2)), channels, x.data<T>(),
                                     y.mutable_data<T>()});
  } else {
    launch(rows, channels,
           UpsampleBilinearForward<T, kLanes>{BilinearAxis<C>::of(x.dim(1), y.dim(1), align),
                                              BilinearAxis<C>::of(x.dim(2), y.dim(2), align), channels,
                                              x.data<T>(), y.mutable_data<T>()});
  }
}

template <typename T, int kLanes, typename Launch>
void launch_upsample_backward(const Tensor& grad_y, UpsampleMode mode, Tensor& grad_x, const Launch& launch) {
  using C = ComputeType<T>;
  const int64_t rows = grad_x.dim(0) * grad_x.dim(1) * grad_x.dim(2), channels = grad_x.dim(3);
  const int64_t h = grad_x.dim(1), w = grad_x.dim(2), oh = grad_y.dim(1), ow = grad_y.dim(2);
  const bool align = mode == UpsampleMode::kBilinearAlignCorners;
  if (mode == UpsampleMode::kNearest) {
    launch(rows, channels,
           UpsampleBackward<T, kLanes, NearestAxis>{NearestAxis<C>::of(h, oh), NearestAxis<C>::of(w, ow),
                                                    channels, grad_y.data<T>(), grad_x.mutable_data<T>()});
  } else {
    launch(rows, channels,
           UpsampleBackward<T, kLanes, BilinearAxis>{BilinearAxis<C>::of(h, oh, align),
                                                     BilinearAxis<C>::of(w, ow, align), channels,
                                                     grad_y.data<T>(), grad_x.mutable_data<T>()});
  }
}

}  // namespace osprey
