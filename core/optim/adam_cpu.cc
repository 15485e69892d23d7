#include "core/backend/cpu/launch.h"
#include "core/optim/adam_kernel.h"

namespace osprey {
namespace {

void adam_cpu(std::vector<AdamJob>& jobs) {
  for (AdamJob& job : jobs) parallel_for_cpu(job.param.numel(), job.step(), /*grain=*/1 << 14);
}

OSPREY_REGISTER_KERNEL(adam_kernel, DeviceType::kCPU, adam_cpu);

}  // namespace
}  // namespace osprey
