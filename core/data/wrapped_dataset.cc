#include "core/data/wrapped_dataset.h"

#include "core/data/sample.h"

namespace osprey {

WrappedDataset::WrappedDataset(const ConfigNode& cfg) : dataset_(build_dataset(cfg["dataset"])) {}

std::vector<Sample> WrappedDataset::get(int64_t index, CounterRng& rng) const {
  Samples samples = dataset_->get(indices_[index], rng);
  for (Sample& sample : samples) sample.meta.dataset_index = index;
  return samples;
}

EvalReport WrappedDataset::evaluate(const std::vector<DetectionResult>&, const EvalOptions&) const {
  throw UserError(
      "a dataset that repeats images cannot be evaluated: use the one within it for val and test");
}

void WrappedDataset::format_results(const std::vector<DetectionResult>&, const std::string&) const {
  throw UserError("a dataset that repeats images has no results: use the one within it for val and test");
}

}  // namespace osprey
