#include "core/runner/scale_advisor.h"

#include <algorithm>
#include <cmath>

#include "core/runner/headroom.h"

namespace osprey {
namespace {

constexpr double kLargestHalf = 65504;
constexpr int kLargestExponent = 24;
constexpr double kMargin = 4;  // the next batches' gradients differ

// Gradients by layer. The sum of gradients that an op is handed may be larger than what others made of it.
struct Measured {
  Replay replay;
  HeadroomMeter meter;
};

Measured measure(const Scene& scene, double scale) {
  Measured measured;
  const auto see = [&](const OpRecord& op) {
    if (!op.backward || op.dtype != DType::kF16) return;
    Magnitudes seen = op.seen;
    for (const Tensor& sum : op.inputs) {
      if (sum.dtype() == DType::kF16) seen.largest = std::max(seen.largest, measure_magnitudes(sum).largest);
    }
    measured.meter.see(op.module_path, /*backward=*/true, seen);
  };
  measured.replay = replay(scene, {scale, {}, /*backward=*/true, see});
  return measured;
}

ScaleForecast forecast(const std::vector<Room>& rooms, double scale, double measured_at) {
  ScaleForecast result;
  result.scale = scale;
  int64_t flushed = 0, nonzero = 0;
  for (const Room& room : rooms) {
    const HalfForecast half = forecast_half(room.gradients, scale / measured_at);
    result.overflowed += half.overflowed;
    flushed += half.flushed;
    nonzero += room.gradients.nonzero();
  }
  result.flushed = static_cast<double>(flushed) / static_cast<double>(std::max<int64_t>(nonzero, 1));
  const Tightest tightest = tightest_above(rooms, /*gradients=*/true);
  if (tightest.room != nullptr) result.limiting = tightest.room->module;
  return result;
}

}  // namespace

ScaleAdvice advise_scale(const Scene& scene) {
  OSPREY_REQUIRE(scene.weights.precision() == DType::kF16, "advise_scale: the model is not in f16");
  ScaleAdvice advice;
  const Measured unscaled = measure(scene, 1);
  if (!unscaled.replay.finite()) return advice;
  const double largest = std::max(unscaled.replay.largest_half_gradient, kLargestHalf / 0x1p24);
  double scale = std::max(1.0, std::exp2(std::floor(std::log2(kLargestHalf / largest))));
  Measured measured = measure(scene, scale);
  while (scale > 1 && !measured.replay.finite()) measured = measure(scene, scale /= 2);
  advice.measured_at = scale;
  advice.advised = std::max(1.0, scale / kMargin);
  const std::vector<Room> rooms = measured.meter.rooms();
  for (int exponent = 0; exponent <= kLargestExponent; ++exponent)
    advice.forecasts.push_back(forecast(rooms, std::exp2(exponent), scale));
  return advice;
}

}  // namespace osprey
