#pragma once

#include <string>

#include "core/runner/step_hook.h"

namespace osprey {

// Why an iteration could not commit, found by replaying it.
struct Diagnosis {
  std::string finding;  // cause, layer, pass: "gradient overflow at loss_scale 512 in a.b.weight; ..."
  std::string cure;     // the change that mends it
};

// Verdicts: weights already non-finite; bad input (file, pixel or box); activation overflow in half; gradient
// overflow in half, with the largest power of two that a replay found safe; divergence (non-finite in f32
// too). Runs up to a handful of replays; leaves no trace. The runner's batch must be the failed one.
Diagnosis diagnose(Runner& runner, const NonFiniteEvent& event);

// "file a.jpg: pixel (x 3, y 5) of channel 0 is nan" when the batch itself is bad, else "".
std::string describe_bad_input(const Batch& batch);

}  // namespace osprey
