#include <algorithm>
#include <numeric>

#include "core/ops/row_order_kernel.h"

namespace osprey {
namespace {

void top_rows_cpu(const Tensor& scores, Tensor& rows) {
  std::vector<uint32_t> keys(scores.numel());
  std::transform(scores.data<float>(), scores.data<float>() + keys.size(), keys.begin(), rank_key);
  std::vector<int64_t> all(keys.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    return keys[a] < keys[b] || (keys[a] == keys[b] && a < b);
  };
  const auto end = all.begin() + rows.numel();
  if (end != all.end()) std::nth_element(all.begin(), end, all.end(), before);
  std::sort(all.begin(), end, before);
  std::copy(all.begin(), end, rows.mutable_data<int64_t>());
}

void select_rows_cpu(const Tensor& flags, Tensor& rows, Tensor& count) {
  const uint8_t* flag = flags.data<uint8_t>();
  int64_t* row = rows.mutable_data<int64_t>();
  int64_t selected = 0;
  for (int64_t i = 0; i < flags.numel(); ++i) {
    row[selected] = i;
    selected += flag[i] != 0;
  }
  *count.mutable_data<int64_t>() = selected;
}

OSPREY_REGISTER_KERNEL(top_rows_kernel, DeviceType::kCPU, top_rows_cpu);
OSPREY_REGISTER_KERNEL(select_rows_kernel, DeviceType::kCPU, select_rows_cpu);

}  // namespace
}  // namespace osprey
