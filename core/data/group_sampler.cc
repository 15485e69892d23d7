#include "core/data/group_sampler.h"

#include "core/base/rng.h"

namespace osprey {
namespace {

constexpr int kGroups = 2;
constexpr uint64_t kSamplerStream = 0x53616D706C6572;  // "Sampler": apart from the streams of the samples

template <typename T>
std::vector<T> shuffled(const std::vector<T>& items, CounterRng& rng) {
  std::vector<T> out;
  out.reserve(items.size());
  for (const int64_t i : rng.permutation(static_cast<int64_t>(items.size()))) out.push_back(items[i]);
  return out;
}

}  // namespace

GroupSampler::GroupSampler(const Dataset& dataset, const SamplerOptions& options)
    : options_(options), groups_(kGroups) {
  OSPREY_REQUIRE(options.samples_per_gpu > 0, "samples_per_gpu must be > 0, got ", options.samples_per_gpu);
  for (int64_t i = 0; i < dataset.size(); ++i) groups_[dataset.group(i)].push_back(i);
  const int64_t unit = options_.samples_per_gpu * options_.world_size;
  for (const auto& group : groups_) {
    batches_per_epoch_ += (static_cast<int64_t>(group.size()) + unit - 1) / unit;
  }
}

std::vector<BatchIndices> GroupSampler::epoch(int64_t epoch) const {
  CounterRng rng(options_.seed ^ kSamplerStream, static_cast<uint64_t>(epoch));
  const int64_t unit = options_.samples_per_gpu * options_.world_size;
  std::vector<BatchIndices> batches;
  for (const auto& group : groups_) {
    const std::vector<int64_t> order = shuffled(group, rng);
    const int64_t count = static_cast<int64_t>(order.size());
    const int64_t filled = (count + unit - 1) / unit * unit;
    for (int64_t i = 0; i < filled; ++i) {
      if (i % options_.samples_per_gpu == 0) batches.emplace_back();
      batches.back().push_back(order[i % count]);
    }
  }
  batches = shuffled(batches, rng);
  const auto begin = batches.begin() + options_.rank * batches_per_epoch_;
  return {begin, begin + batches_per_epoch_};
}

}  // namespace osprey
