#pragma once

#include <string>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/pipelines/transform.h"

namespace osprey {

// What datasets with a pipeline share (mmdetection's CustomDataset): a derived class says what it knows of
// each image, the pipeline does the rest.
class CustomDataset : public Dataset {
 public:
  std::vector<Sample> get(int64_t index, CounterRng& rng) const override;

 protected:
  // Reads `pipeline` and `test_mode`.
  explicit CustomDataset(const ConfigNode& cfg);
  virtual SampleSource source(int64_t index) const = 0;

  bool test_mode() const { return test_mode_; }
  bool pipeline_produces(const std::string& key) const { return pipeline_keys_.count(key) != 0; }

 private:
  bool test_mode_;
  Pipeline pipeline_;
  SampleKeys pipeline_keys_;
};

}  // namespace osprey
