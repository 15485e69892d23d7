#include "core/data/custom_dataset.h"

#include <opencv2/core.hpp>

namespace osprey {

CustomDataset::CustomDataset(const ConfigNode& cfg)
    : test_mode_(cfg.get("test_mode", false)), pipeline_(cfg["pipeline"]) {
  pipeline_.check_keys(pipeline_keys_);
}

std::vector<Sample> CustomDataset::get(int64_t index, CounterRng& rng) const {
  Sample sample;
  sample.source = std::make_shared<const SampleSource>(source(index));
  sample.meta.dataset_index = index;
  const std::string filename = sample.source->filename;
  try {
    return pipeline_.run(std::move(sample), rng);
  } catch (const cv::Exception& problem) {
    throw SampleError(filename, str_cat("OpenCV: ", problem.err, " in ", problem.func));
  }
}

}  // namespace osprey
