#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.h"
#include "core/detection/batch.h"
#include "core/detection/result.h"
#include "core/evaluation/eval_report.h"
#include "core/registry/registry.h"

namespace osprey {

struct Sample;  // core/data/sample.h: one image with its annotations on its way through the pipeline

// A source of images and annotations with its pipeline. Thread-safe for concurrent get().
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  // Loads sample `index` and runs the pipeline with the given randomness. With MultiScaleFlipAug there is one
  // sample per augmentation, else exactly one. Empty when the pipeline rejects the sample (the loader then
  // takes another one).
  virtual std::vector<Sample> get(int64_t index, CounterRng& rng) const = 0;
  // Aspect-ratio group of GroupSampler: 1 when the image is wider than high.
  virtual int group(int64_t index) const = 0;
  // The classes that occur in an image, in ascending order; for ClassBalancedDataset.
  virtual std::vector<int64_t> labels(int64_t index) const = 0;
  // Throws UserError for options that evaluate() would not take: before an inference of hours.
  virtual void check_options(const EvalOptions&) const {}
  // results[i] belongs to image i, 0 <= i < size().
  virtual EvalReport evaluate(const std::vector<DetectionResult>& results,
                              const EvalOptions& options) const = 0;
  // COCO json of the results: prefix.bbox.json, prefix.segm.json.
  virtual void format_results(const std::vector<DetectionResult>& results,
                              const std::string& prefix) const = 0;
};

OSPREY_DECLARE_REGISTRY(Dataset);

// Builds what `data.train`, `data.val` or `data.test` names: a dataset, or the concatenation of several when
// it is a list or its ann_file is one.
std::unique_ptr<Dataset> build_dataset(const ConfigNode& cfg);
// The same with test_mode set, for evaluation: no image is left out. mmdetection does so for val and test.
std::unique_ptr<Dataset> build_test_dataset(const ConfigNode& cfg);

}  // namespace osprey
