#include <algorithm>
#include <cmath>
#include <map>

#include "core/data/wrapped_dataset.h"

namespace osprey {
namespace {

// Repeats images of rare classes. Gupta et al., "LVIS", section B.2 (repeat factor sampling): a class in a
// share f of the images has the factor max(1, sqrt(oversample_thr / f)), an image the largest of its
// classes', rounded up.
class ClassBalancedDataset final : public WrappedDataset {
 public:
  explicit ClassBalancedDataset(const ConfigNode& cfg)
      : WrappedDataset(cfg), filter_empty_gt_(cfg.get("filter_empty_gt", true)) {
    const double threshold = cfg.get("oversample_thr", 0.0, between(0, 1));
    if (!cfg.has("oversample_thr") || threshold <= 0) cfg.fail("needs oversample_thr in (0, 1]");
    const std::map<int64_t, double> factors = class_factors(threshold);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < dataset().size(); ++i) {
      double factor = 1;
      for (const int64_t label : labels_of(i)) factor = std::max(factor, factors.at(label));
      indices.insert(indices.end(), static_cast<size_t>(std::ceil(factor)), i);
    }
    set_indices(std::move(indices));
  }

 private:
  // Without filter_empty_gt images without annotations form a class of their own.
  std::vector<int64_t> labels_of(int64_t index) const {
    std::vector<int64_t> labels = dataset().labels(index);
    if (labels.empty() && !filter_empty_gt_) labels.push_back(static_cast<int64_t>(classes().size()));
    return labels;
  }

  std::map<int64_t, double> class_factors(double threshold) const {
    std::map<int64_t, double> images;
    for (int64_t i = 0; i < dataset().size(); ++i) {
      for (const int64_t label : labels_of(i)) images[label] += 1;
    }
    std::map<int64_t, double> factors;
    for (const auto& [label, count] : images) {
      const double share = count / static_cast<double>(dataset().size());
      factors[label] = std::max(1.0, std::sqrt(threshold / share));
    }
    return factors;
  }

  bool filter_empty_gt_;
};

}  // namespace

OSPREY_REGISTER(Dataset, ClassBalancedDataset);

}  // namespace osprey
