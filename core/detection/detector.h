#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/detection/batch.h"
#include "core/detection/result.h"
#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// Named values of one forward pass in the order in which the log shows them. Scalars of shape (); names that
// contain "loss" are summed into the total, others (acc) are only logged.
class LossDict {
 public:
  void add(const std::string& name, Variable value);
  // The mean of each element summed over the list, as mmdetection treats a per-level list of losses.
  void add(const std::string& name, const Variables& values);
  // Everything of `other` under "prefix" + name, values whose name contains "loss" multiplied by `weight`.
  void merge(const std::string& prefix, const LossDict& other, double weight = 1.0);
  const std::vector<std::pair<std::string, Variable>>& entries() const { return entries_; }
  // Sum of the entries whose name contains "loss", f32 scalar.
  Variable total() const;

 private:
  std::vector<std::pair<std::string, Variable>> entries_;
};

// A trainable detector. Registered in models/detectors.
class Detector : public Module {
 public:
  virtual LossDict forward_train(const Batch& batch) = 0;
  // One result per image, boxes in pixels of the original file when `rescale`, else of the network's input.
  virtual std::vector<DetectionResult> simple_test(const Batch& batch, bool rescale) = 0;
  // Test-time augmentation: batches[a] holds the same images under augmentation a.
  virtual std::vector<DetectionResult> aug_test(const std::vector<Batch>& batches, bool rescale);
  // (module path, classes it was built for), e.g. {"roi_head.bbox_head.0", 80}, for NumClassCheckHook.
  virtual std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const { return {}; }
};

OSPREY_DECLARE_REGISTRY(Detector);

}  // namespace osprey
