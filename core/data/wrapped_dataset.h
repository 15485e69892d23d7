#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/data/dataset.h"

namespace osprey {

// The images of another dataset (key `dataset`) in another order or number, for training.
class WrappedDataset : public Dataset {
 public:
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::vector<std::string>& classes() const override { return dataset_->classes(); }
  std::vector<Sample> get(int64_t index, CounterRng& rng) const override;
  int group(int64_t index) const override { return dataset_->group(indices_[index]); }
  std::vector<int64_t> labels(int64_t index) const override { return dataset_->labels(indices_[index]); }
  // Throw: a dataset that shows images several times cannot be evaluated.
  EvalReport evaluate(const std::vector<DetectionResult>& results, const EvalOptions& options) const override;
  void format_results(const std::vector<DetectionResult>& results, const std::string& prefix) const override;

 protected:
  explicit WrappedDataset(const ConfigNode& cfg);
  const Dataset& dataset() const { return *dataset_; }
  void set_indices(std::vector<int64_t> indices) { indices_ = std::move(indices); }

 private:
  std::unique_ptr<Dataset> dataset_;
  std::vector<int64_t> indices_;  // of the wrapped dataset
};

}  // namespace osprey
