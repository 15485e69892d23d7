#pragma once

#include "core/ops/box_losses_kernel.h"
#include "core/ops/map.h"

namespace osprey {

// Tensors of one call, one dtype (f32, f64), one device.
struct BoxLossArgs {
  Tensor pred, target;          // (n, 4)
  std::vector<double> scalars;  // of the functor
  Tensor loss;                  // (n, outputs): written by forward
  Tensor grad, grad_pred;       // backward: read (n, outputs), written (n, 4); forward: undefined
};

template <template <typename> class F>
struct BoxLossKernel {
  inline static DeviceKernel<void(BoxLossArgs& args)> kernel{"box loss"};
};

template <template <typename> class F, typename T>
BoxLossRow<F<T>, T> box_loss_row(BoxLossArgs& a) {
  const bool backward = a.grad.defined();
  return {internal::make_functor<F<T>, T>(a.scalars),
          a.pred.data<T>(),
          a.target.data<T>(),
          backward ? nullptr : a.loss.mutable_data<T>(),
          backward ? a.grad.data<T>() : nullptr,
          backward ? a.grad_pred.mutable_data<T>() : nullptr};
}

}  // namespace osprey
