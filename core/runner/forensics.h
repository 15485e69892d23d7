#pragma once

#include <string>

#include "core/runner/replay.h"
#include "core/runner/step_hook.h"

namespace osprey {

// Why an iteration could not commit, found by replaying it.
struct Diagnosis {
  std::string finding;  // cause, layer, op, pass: "gradient overflow at loss_scale 512 in a.b.weight; ..."
  std::string cure;     // the change that mends it, where there is one as KEY=VALUE for --cfg-options
  // "FINDING. Cure: CURE", as the log has it.
  std::string text() const { return cure.empty() ? finding : finding + ". Cure: " + cure; }
};

// Verdicts: weights already non-finite (since when); optimizer epsilon lost; bad input (file, pixel, box or
// label); log or division by zero at an op; activation overflow in half; gradient overflow in half, with the
// largest power of two that a replay found safe; divergence (non-finite in f32 too). A cure that is a scale
// or a list of layers has been tried: a replay with it is finite. Runs up to a dozen replays; leaves no
// trace. The scene's batch must be the failed one.
Diagnosis diagnose(const Scene& scene, const NonFiniteEvent& event);

// A finite loss of more than 1e4 times the running median: the images and the layer with the largest
// activation, seen in one more forward pass. Buffers that the iteration has staged stay as they are.
Diagnosis diagnose_explosion(const Scene& scene, double loss, double median);

}  // namespace osprey
