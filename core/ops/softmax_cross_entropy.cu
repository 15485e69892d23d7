#include "core/backend/cuda/launch.cuh"
#include "core/ops/softmax_cross_entropy_launch.h"

namespace osprey {

namespace {

void forward(SoftmaxCrossEntropyArgs& args) {
  parallel_for_cuda(args.logits.device(), args.logits.dim(0), forward_functor<float>(args));
}

void backward(SoftmaxCrossEntropyArgs& args) {
  parallel_rows_cuda(args.logits.device(), args.logits.dim(0), args.logits.dim(1),
                     backward_functor<float>(args));
}

}  // namespace

OSPREY_REGISTER_KERNEL(softmax_cross_entropy_kernel, DeviceType::kCUDA, forward);
OSPREY_REGISTER_KERNEL(softmax_cross_entropy_grad_kernel, DeviceType::kCUDA, backward);

}  // namespace osprey
