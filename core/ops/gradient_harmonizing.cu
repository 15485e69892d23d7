#include <algorithm>

#include "core/backend/cuda/launch.cuh"
#include "core/ops/gradient_harmonizing_kernel.h"

namespace osprey {
namespace {

constexpr int64_t kStrips = 1 << 16;  // threads that count

void harmonize_cuda(HarmonizingArgs& args) {
  const Device device = args.lengths.device();
  const int64_t size = args.lengths.numel(), strips = std::min(size, kStrips);
  scatter_rows_cuda(device, strips, 1,
                    CountStrip{bins_of(args), args.lengths.data<float>(), args.weights.data<float>(),
                               args.counts.mutable_data<int32_t>(), size, strips});
  parallel_for_cuda(device, args.counts.numel(), weigh_bin(args));
  parallel_for_cuda(device, size, weigh_element(args));
}

OSPREY_REGISTER_KERNEL(harmonizing_kernel, DeviceType::kCUDA, harmonize_cuda);

}  // namespace
}  // namespace osprey
