#include "core/backend/cpu/launch.h"
#include "core/ops/box_losses_launch.h"

namespace osprey {

namespace {

template <template <typename> class F>
void run(BoxLossArgs& args) {
  constexpr int64_t kGrain = 256;
  if (args.pred.dtype() == DType::kF64) {
    parallel_for_cpu(args.pred.dim(0), box_loss_row<F, double>(args), kGrain);
  } else {
    parallel_for_cpu(args.pred.dim(0), box_loss_row<F, float>(args), kGrain);
  }
}

}  // namespace

OSPREY_REGISTER_KERNEL(BoxLossKernel<IoULossOf>::kernel, DeviceType::kCPU, run<IoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<GIoULossOf>::kernel, DeviceType::kCPU, run<GIoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<DIoULossOf>::kernel, DeviceType::kCPU, run<DIoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<CIoULossOf>::kernel, DeviceType::kCPU, run<CIoULossOf>);
OSPREY_REGISTER_KERNEL(BoxLossKernel<BoundedIoULossOf>::kernel, DeviceType::kCPU, run<BoundedIoULossOf>);

}  // namespace osprey
