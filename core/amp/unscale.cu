#include "core/amp/unscale_kernel.h"
#include "core/backend/cuda/multi_tensor.cuh"

namespace osprey {
namespace {

OSPREY_HD float widened(const void* values, DType dtype, int64_t i) {
  if (dtype == DType::kF16) return static_cast<float>(static_cast<const Half*>(values)[i]);
  if (dtype == DType::kBF16) return static_cast<float>(static_cast<const BFloat16*>(values)[i]);
  return static_cast<const float*>(values)[i];
}

struct UnscaleItem {
  const void* grad;
  DType dtype;
  bool accumulate;
  float* master;
  int32_t* nonfinite;
  int64_t n;
};

// Threads that find a value that is not finite write the same number: no atomics.
struct UnscaleElement {
  float factor;
  OSPREY_HD void operator()(const UnscaleItem& item, int64_t i) const {
    float value = widened(item.grad, item.dtype, i);
    if (item.master != nullptr) {
      value = value * factor + (item.accumulate ? item.master[i] : 0.0f);
      item.master[i] = value;
    }
    if (!(value - value == 0)) *item.nonfinite = 1;
  }
};

struct RoundItem {
  const float* master;
  void* rounded;
  DType dtype;
  int64_t n;
};

struct RoundElement {
  OSPREY_HD void operator()(const RoundItem& item, int64_t i) const {
    if (item.dtype == DType::kF16) {
      static_cast<Half*>(item.rounded)[i] = static_cast<Half>(item.master[i]);
    } else {
      static_cast<BFloat16*>(item.rounded)[i] = static_cast<BFloat16>(item.master[i]);
    }
  }
};

void unscale_cuda(std::vector<UnscaleJob>& jobs, float factor) {
  std::vector<UnscaleItem> items;
  for (UnscaleJob& job : jobs) {
    items.push_back({job.grad.raw(), job.grad.dtype(), job.accumulate,
                     job.master.defined() ? job.master.mutable_data<float>() : nullptr,
                     job.nonfinite.mutable_data<int32_t>(), job.grad.numel()});
  }
  MultiTensor<UnscaleItem>(items, jobs.front().grad.device()).for_each_element(UnscaleElement{factor});
}

void round_masters_cuda(std::vector<RoundJob>& jobs) {
  std::vector<RoundItem> items;
  for (RoundJob& job : jobs) {
    items.push_back(
        {job.master.data<float>(), job.rounded.mutable_raw(), job.rounded.dtype(), job.master.numel()});
  }
  MultiTensor<RoundItem>(items, jobs.front().master.device()).for_each_element(RoundElement{});
}

OSPREY_REGISTER_KERNEL(unscale_kernel, DeviceType::kCUDA, unscale_cuda);
OSPREY_REGISTER_KERNEL(round_masters_kernel, DeviceType::kCUDA, round_masters_cuda);

}  // namespace
}  // namespace osprey
