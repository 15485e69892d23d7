#pragma once

#include <iosfwd>
#include <optional>

#include "tools/kept_iteration.h"

namespace osprey {

struct ReportOptions {
  std::optional<double> loss_scale;  // when not the logged one
  bool all = false;                  // every op, also behind the first bad one
};

// Repeats the iteration and prints each op in order, the losses, and the verdict with its cure in the words
// of the log. Throws Error when the replay must agree with the log and does not.
void report_replay(KeptIteration& iteration, const ReportOptions& options, std::ostream& out);

// The loss-scale advisor: what every power of two would do to the iteration's gradients. Throws UserError
// when the iteration is not in fp16, or not finite at any scale.
void report_advice(KeptIteration& iteration, std::ostream& out);

}  // namespace osprey
