#include "core/backend/cuda/multi_tensor.cuh"
#include "core/optim/adam_kernel.h"

namespace osprey {
namespace {

struct AdamItem {
  AdamStep step;
  int64_t n;
};

struct AdamElement {
  OSPREY_HD void operator()(const AdamItem& item, int64_t i) const { item.step(i); }
};

void adam_cuda(std::vector<AdamJob>& jobs) {
  std::vector<AdamItem> items;
  for (AdamJob& job : jobs) items.push_back({job.step(), job.param.numel()});
  MultiTensor<AdamItem>(items, jobs.front().param.device()).for_each_element(AdamElement{});
}

OSPREY_REGISTER_KERNEL(adam_kernel, DeviceType::kCUDA, adam_cuda);

}  // namespace
}  // namespace osprey
