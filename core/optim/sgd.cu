#include "core/backend/cuda/multi_tensor.cuh"
#include "core/optim/sgd_kernel.h"

namespace osprey {
namespace {

struct SgdItem {
  SgdStep step;
  int64_t n;
};

struct SgdElement {
  OSPREY_HD void operator()(const SgdItem& item, int64_t i) const { item.step(i); }
};

void sgd_cuda(std::vector<SgdJob>& jobs) {
  std::vector<SgdItem> items;
  for (SgdJob& job : jobs) items.push_back({job.step(), job.param.numel()});
  MultiTensor<SgdItem>(items, jobs.front().param.device()).for_each_element(SgdElement{});
}

OSPREY_REGISTER_KERNEL(sgd_kernel, DeviceType::kCUDA, sgd_cuda);

}  // namespace
}  // namespace osprey
