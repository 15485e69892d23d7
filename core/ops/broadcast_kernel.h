#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"

// T stores, arithmetic runs in its compute type. A row is one pixel.
namespace osprey {

// out = x + scale v[image]; x null: nothing is added to.
template <typename T>
struct AddPerImage {
  const T *x, *v;
  ComputeType<T> scale;
  int64_t pixels, channels;  // of an image
  T* out;

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    using C = ComputeType<T>;
    const T* added = v + row / pixels * channels;
    const int64_t first = row * channels;
    for (int64_t c = begin; c < end; ++c) {
      const C base = x ? static_cast<C>(x[first + c]) : C(0);
      out[first + c] = static_cast<T>(base + scale * static_cast<C>(added[c]));
    }
  }
};

template <typename T>
struct Blend {
  const T *a, *b, *gate;
  int64_t channels;
  T* out;

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    using C = ComputeType<T>;
    const C s = static_cast<C>(gate[row]), rest = 1 - s;
    for (int64_t i = row * channels + begin; i < row * channels + end; ++i) {
      out[i] = static_cast<T>(s * static_cast<C>(a[i]) + rest * static_cast<C>(b[i]));
    }
  }
};

// kLanes workers share a pixel: lane l takes every kLanes-th channel from l on. grad_gate is a sum over
// channels.
template <typename T, int kLanes>
struct BlendGrad {
  const T *grad_out, *a, *b, *gate;
  int64_t channels;
  T *grad_a, *grad_b;
  ComputeType<T>* grad_gate;

  OSPREY_HD void add(int64_t row, int64_t lane, ComputeType<T>* sums) const {
    using C = ComputeType<T>;
    const C s = static_cast<C>(gate[row]), rest = 1 - s;
    for (int64_t i = row * channels + lane; i < (row + 1) * channels; i += kLanes) {
      const C g = static_cast<C>(grad_out[i]);
      sums[0] += g * (static_cast<C>(a[i]) - static_cast<C>(b[i]));
      grad_a[i] = static_cast<T>(s * g);
      grad_b[i] = static_cast<T>(rest * g);
    }
  }
  OSPREY_HD void finish(int64_t row, const ComputeType<T>* sums) const { grad_gate[row] = sums[0]; }
};

// Nothing is empty; all of one dtype but grad_gate, which is in the compute dtype.
extern DeviceKernel<void(const Tensor& x_or_none, const Tensor& v, double scale, Tensor& out)>
    add_per_image_kernel;
extern DeviceKernel<void(const Tensor& a, const Tensor& b, const Tensor& gate, Tensor& out)> blend_kernel;
extern DeviceKernel<void(const Tensor& grad_out, const Tensor& a, const Tensor& b, const Tensor& gate,
                         Tensor& grad_a, Tensor& grad_b, Tensor& grad_gate)>
    blend_backward_kernel;

}  // namespace osprey
