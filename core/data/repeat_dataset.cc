#include "core/data/wrapped_dataset.h"

namespace osprey {
namespace {

// Shows a small dataset `times` times an epoch, which saves the pauses between epochs. Each repetition is
// augmented anew.
class RepeatDataset final : public WrappedDataset {
 public:
  explicit RepeatDataset(const ConfigNode& cfg) : WrappedDataset(cfg) {
    if (!cfg.has("times")) cfg.fail("needs `times`");
    const int64_t times = cfg.get("times", int64_t{1}, positive());
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < times * dataset().size(); ++i) indices.push_back(i % dataset().size());
    set_indices(std::move(indices));
  }
};

}  // namespace

OSPREY_REGISTER(Dataset, RepeatDataset);

}  // namespace osprey
