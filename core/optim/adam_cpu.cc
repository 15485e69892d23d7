#include "core/backend/cpu/launch.h"
#include "core/optim/adam_kernel.h"

namespace osprey {
namespace {

void adam_cpu(const AdamHyper& hyper, Tensor& param, const Tensor& grad, Tensor& exp_avg, Tensor& exp_avg_sq,
              Tensor& max_exp_avg_sq) {
  parallel_for_cpu(param.numel(), make_adam_step(hyper, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq),
                   /*grain=*/1 << 14);
}

OSPREY_REGISTER_KERNEL(adam_kernel, DeviceType::kCPU, adam_cpu);

}  // namespace
}  // namespace osprey
