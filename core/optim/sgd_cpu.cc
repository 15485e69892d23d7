#include "core/backend/cpu/launch.h"
#include "core/optim/sgd_kernel.h"

namespace osprey {
namespace {

void sgd_cpu(std::vector<SgdJob>& jobs) {
  for (SgdJob& job : jobs) parallel_for_cpu(job.param.numel(), job.step(), /*grain=*/1 << 14);
}

OSPREY_REGISTER_KERNEL(sgd_kernel, DeviceType::kCPU, sgd_cpu);

}  // namespace
}  // namespace osprey
