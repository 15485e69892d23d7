#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/data/dataset.h"
#include "core/detection/detector.h"

namespace osprey {

struct InferenceOptions {
  int workers = 2;      // loader threads
  bool rescale = true;  // boxes in pixels of the original file
  bool show_progress = true;
  std::function<void(int64_t done, int64_t total)>
      on_progress;  // after each image of this rank; may throw to stop
};

// Runs every image of a test set through the detector, in eval mode and without gradients; the mode is
// restored. results[i] belongs to image i. Several ranks share the images, and rank 0 gets all results, the
// others none: collective.
std::vector<DetectionResult> run_inference(Detector& model, std::shared_ptr<const Dataset> dataset,
                                           const InferenceOptions& options = {});

}  // namespace osprey
