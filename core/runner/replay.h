#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/amp/master_weights.h"
#include "core/detection/detector.h"
#include "core/ops/magnitudes.h"
#include "core/runner/fire_drill.h"

namespace osprey {

// What an iteration is repeated with: a runner's own parts in a training run, those of a dump in
// tools/replay.
struct Scene {
  Detector& model;
  MasterWeights& weights;
  const Batch& batch;
  FireDrill& fire_drill;
  int64_t iter = 0;        // 0-based
  double loss_factor = 1;  // what an accumulation window divides the loss by
  // For words alone.
  ConfigNode config;           // the whole
  double lr = 0;               // of this iteration
  int64_t last_committed = 0;  // the iteration, from 1, that changed the weights last; 0: none did
};

// What an op made.
struct OpRecord {
  std::string op;           // "gradient" for a parameter's whole gradient, behind the last op
  std::string module_path;  // or the parameter
  bool backward = false;
  DType dtype = DType::kF32;
  Magnitudes seen;
  Tensors inputs;  // what it read, in the call of `each` only

  bool finite() const { return seen.finite(); }
};

// Where a value went bad.
struct BadOp {
  OpRecord record;
  std::vector<Magnitudes> inputs;  // of what it read; tells whether the op or its input is to blame
  // An element that went bad although it was made of one input element: that one, when it was finite.
  std::optional<double> blamed_input;
  std::vector<std::string> later_modules;  // whose ops ran next, each once
};

// What a repeated iteration showed.
struct Replay {
  std::vector<std::pair<std::string, double>> losses;  // every entry of the loss dict, then "loss", the total
  std::optional<BadOp> first_bad;                      // in order of execution
  std::vector<std::string> bad_losses;                 // terms of the loss dict
  std::vector<std::string> bad_parameters;             // whose gradient is not finite, in model order
  double largest_half_gradient = 0;  // magnitude over all finite half gradients, loss scale included

  bool finite() const { return !first_bad && bad_losses.empty() && bad_parameters.empty(); }
};

struct ReplayOptions {
  double loss_scale = 1;
  // Modules (and all below them) that compute in f32 from the masters; "" is the whole model.
  std::vector<std::string> in_fp32;
  bool backward = true;
  // Sees every op that made floating numbers, and after the last the gradient of every parameter.
  std::function<void(const OpRecord&)> each;
};

// Runs forward and backward of the scene's batch with every op observed. The randomness of the iteration
// comes from the batch, so this is the same iteration. Leaves no trace: buffers, gradients and weights are as
// before. Requires: no accumulated gradients wait in the model.
Replay replay(const Scene& scene, const ReplayOptions& options);

}  // namespace osprey
