#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/data/dataset.h"

namespace osprey {

// Several datasets of the same classes, one after the other. Each is evaluated by itself; metric names get
// the dataset's number in front ("0_bbox_mAP"), as in mmdetection with separate_eval, the only way it
// evaluates COCO datasets.
class ConcatDataset final : public Dataset {
 public:
  explicit ConcatDataset(const ConfigNode& cfg);  // keys: datasets, separate_eval, test_mode
  explicit ConcatDataset(std::vector<std::unique_ptr<Dataset>> datasets);
  // From a list of dataset configs, or from one whose ann_file (and img_prefix, seg_prefix) is a list.
  static std::unique_ptr<ConcatDataset> of(const ConfigNode& cfg, bool test_mode);

  int64_t size() const override { return begins_.back(); }
  const std::vector<std::string>& classes() const override { return datasets_[0]->classes(); }
  std::vector<Sample> get(int64_t index, CounterRng& rng) const override;
  int group(int64_t index) const override;
  std::vector<int64_t> labels(int64_t index) const override;
  void check_options(const EvalOptions& options) const override { datasets_.front()->check_options(options); }
  EvalReport evaluate(const std::vector<DetectionResult>& results, const EvalOptions& options) const override;
  void format_results(const std::vector<DetectionResult>& results, const std::string& prefix) const override;

 private:
  std::pair<const Dataset*, int64_t> locate(int64_t index) const;  // dataset and index within it
  std::vector<DetectionResult> results_of(size_t dataset, const std::vector<DetectionResult>& results) const;

  std::vector<std::unique_ptr<Dataset>> datasets_;
  std::vector<int64_t> begins_;  // first index of each dataset, then the total
};

}  // namespace osprey
