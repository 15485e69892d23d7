#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"

namespace osprey {

class Runner;

// Where a value went bad.
struct OpRecord {
  std::string op;
  std::string module_path;
  bool backward = false;
  DType dtype = DType::kF32;
  bool has_nan = false;  // else only infinities
};

// What a repeated iteration showed.
struct Replay {
  std::optional<OpRecord> first_bad;        // in order of execution
  std::vector<std::string> bad_losses;      // terms of the loss dict
  std::vector<std::string> bad_parameters;  // whose gradient is not finite, in model order
  double largest_half_gradient = 0;         // magnitude over all finite half gradients, loss scale included

  bool finite() const { return !first_bad && bad_losses.empty() && bad_parameters.empty(); }
};

// Runs forward and backward of the runner's current batch again with every op observed. The randomness of the
// iteration comes from the batch, so this is the same iteration. Leaves no trace: buffers, gradients and
// weights are as before. Requires: no accumulated gradients wait in the model.
Replay replay(Runner& runner, double loss_scale);
// The same with the f32 masters in place of half weights.
Replay replay_in_fp32(Runner& runner);

}  // namespace osprey
