#include <vector>

#include "core/backend/cpu/launch.h"
#include "core/ops/gradient_harmonizing_kernel.h"

namespace osprey {
namespace {

constexpr int64_t kGrain = 1 << 14;

// Every thread counts for itself; integers add up to the same in any order.
void count_examples(HarmonizingArgs& args) {
  const Bins bins = bins_of(args);
  int32_t* totals = args.counts.mutable_data<int32_t>();
  const float *lengths = args.lengths.data<float>(), *weights = args.weights.data<float>();
  parallel_ranges(args.lengths.numel(), kGrain, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> counts(bins.count, 0);
    CountStrip{bins, lengths, weights, counts.data(), end, 1}(begin, 0, 1);
#pragma omp critical(osprey_count_examples)
    for (int64_t b = 0; b < bins.count; ++b) totals[b] += counts[b];
  });
}

void harmonize_cpu(HarmonizingArgs& args) {
  count_examples(args);
  parallel_for_cpu(args.counts.numel(), weigh_bin(args));
  parallel_for_cpu(args.lengths.numel(), weigh_element(args), kGrain);
}

OSPREY_REGISTER_KERNEL(harmonizing_kernel, DeviceType::kCPU, harmonize_cpu);

}  // namespace
}  // namespace osprey
