#include "core/backend/cpu/launch.h"
#include "core/optim/sgd_kernel.h"

namespace osprey {
namespace {

void sgd_cpu(const SgdHyper& hyper, Tensor& param, const Tensor& grad, Tensor& buffer) {
  parallel_for_cpu(param.numel(), make_sgd_step(hyper, param, grad, buffer), /*grain=*/1 << 14);
}

OSPREY_REGISTER_KERNEL(sgd_kernel, DeviceType::kCPU, sgd_cpu);

}  // namespace
}  // namespace osprey
