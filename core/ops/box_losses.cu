#include "core/backend/cuda/launch.cuh"
#include "core/ops/box_losses_launch.h"

namespace osprey {

namespace {

template <template <typename> class F>
void run(BoxLossArgs& args) {
  parallel_for_cuda(args.pred.device(), args.pred.dim(0), box_loss_row<F, float>(args));
}

}  // namespace

OSPREY_REGISTER_KERNEL(BoxLossKernel<IoULossOf>::kernel, DeviceType::kCUDA, run<IoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<GIoULossOf>::kernel, DeviceType::kCUDA, run<GIoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<DIoULossOf>::kernel, DeviceType::kCUDA, run<DIoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<CIoULossOf>::kernel, DeviceType::kCUDA, run<CIoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<BoundedIoULossOf>::kernel, DeviceType::kCUDA, run<BoundedIoULossOf>);

}  // namespace osprey
