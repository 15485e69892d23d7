#pragma once

#include "core/ops/softmax_cross_entropy_kernel.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Tensors of one call, all of one floating dtype (f32, f64) but the labels, all on one device.
struct SoftmaxCrossEntropyArgs {
  Tensor logits, labels, class_weight;  // (n, c), i64 (n), (c) or undefined
  int64_t ignore_index;
  Tensor top, log_sum;  // (n): written by forward, read by backward
  Tensor loss;          // (n): written by forward
  Tensor grad;          // (n): read by backward
  Tensor grad_logits;   // (n, c): written by backward
};

extern DeviceKernel<void(SoftmaxCrossEntropyArgs& args)> softmax_cross_entropy_kernel;
extern DeviceKernel<void(SoftmaxCrossEntropyArgs& args)> softmax_cross_entropy_grad_kernel;

template <typename T>
SoftmaxCrossEntropy<T> forward_functor(SoftmaxCrossEntropyArgs& a) {
  return {a.logits.data<T>(),
          a.labels.data<int64_t>(),
          a.class_weight.defined() ? a.class_weight.data<T>() : nullptr,
          a.logits.dim(1),
          a.ignore_index,
          a.loss.mutable_data<T>(),
          a.top.mutable_data<T>(),
          a.log_sum.mutable_data<T>()};
}

template <typename T>
SoftmaxCrossEntropyGrad<T> backward_functor(SoftmaxCrossEntropyArgs& a) {
  return {a.logits.data<T>(),
          a.labels.data<int64_t>(),
          a.class_weight.defined() ? a.class_weight.data<T>() : nullptr,
          a.logits.dim(1),
          a.ignore_index,
          a.top.data<T>(),
          a.log_sum.data<T>(),
          a.grad.data<T>(),
          a.grad_logits.mutable_data<T>()};
}

}  // namespace osprey
