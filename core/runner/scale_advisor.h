#pragma once

#include <string>
#include <vector>

#include "core/runner/replay.h"

namespace osprey {

// What a static loss scale would do to the half gradients of an iteration.
struct ScaleForecast {
  double scale = 1;        // a power of two
  int64_t overflowed = 0;  // gradient elements that become inf
  double flushed = 0;      // share that becomes 0 of the elements that are not 0 at the measured scale
  std::string limiting;    // the layer with the least room to overflow
};

struct ScaleAdvice {
  double measured_at = 0;                // the largest power of two that a replay found finite; 0: none is
  double advised = 0;                    // with room for other batches
  std::vector<ScaleForecast> forecasts;  // by scale, 1 to 2^24
};

// Measures the gradients by a few replays of the scene and forecasts every scale from that. Requires: a model
// in f16.
ScaleAdvice advise_scale(const Scene& scene);

}  // namespace osprey
