#include "core/backend/cpu/launch.h"
#include "core/ops/softmax_cross_entropy_launch.h"

namespace osprey {

namespace {

template <typename T>
void forward_as(SoftmaxCrossEntropyArgs& args) {
  parallel_for_cpu(args.logits.dim(0), forward_functor<T>(args), /*grain=*/64);
}

template <typename T>
void backward_as(SoftmaxCrossEntropyArgs& args) {
  parallel_rows_cpu(args.logits.dim(0), args.logits.dim(1), backward_functor<T>(args));
}

void forward(SoftmaxCrossEntropyArgs& args) {
  args.logits.dtype() == DType::kF64 ? forward_as<double>(args) : forward_as<float>(args);
}

void backward(SoftmaxCrossEntropyArgs& args) {
  args.logits.dtype() == DType::kF64 ? backward_as<double>(args) : backward_as<float>(args);
}

}  // namespace

OSPREY_REGISTER_KERNEL(softmax_cross_entropy_kernel, DeviceType::kCPU, forward);
OSPREY_REGISTER_KERNEL(softmax_cross_entropy_grad_kernel, DeviceType::kCPU, backward);

}  // namespace osprey
