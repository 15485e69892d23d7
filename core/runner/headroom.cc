#include "core/runner/headroom.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace osprey {
namespace {

constexpr double kOverflow = 65520;  // rounds to inf, as all above it
constexpr double kSmallestHalf = 0x1p-24;
constexpr double kRange = 40;  // binades of half, subnormal ones included
constexpr int kBias = 127;

}  // namespace

HalfForecast forecast_half(const Magnitudes& seen, double factor) {
  HalfForecast forecast;
  const int shift = static_cast<int>(std::floor(std::log2(factor)));
  for (int b = 0; b < static_cast<int>(seen.binades.size()); ++b) {
    const int exponent = b - kBias + shift;  // elements in [2^exponent, 2^(exponent + 1))
    if (exponent >= 16) forecast.overflowed += seen.binades[b];
    if (exponent < -25) forecast.flushed += seen.binades[b];
  }
  // Of the last binade only what rounds up is lost, and only the largest is known exactly.
  if (forecast.overflowed == 0 && seen.largest * factor >= kOverflow) forecast.overflowed = 1;
  return forecast;
}

double overflow_binades(const Magnitudes& seen) {
  if (!seen.finite()) return 0;
  return seen.largest == 0 ? 16 : std::log2(kOverflow / seen.largest);
}

double underflow_binades(const Magnitudes& seen) {
  if (seen.nonzero() == 0) return kRange;
  int64_t below = 0;
  for (int b = 0; b < static_cast<int>(seen.binades.size()); ++b) {
    below += seen.binades[b];
    if (2 * below > seen.nonzero())
      return std::max(0.0, static_cast<double>(b - kBias) - std::log2(kSmallestHalf));
  }
  return kRange;
}

void HeadroomMeter::see(const std::string& module, bool backward, const Tensor& value) {
  if (value.defined() && value.dtype() == DType::kF16) see(module, backward, measure_magnitudes(value));
}

void HeadroomMeter::see_gradients(Module& model) {
  for (const auto& [name, parameter] : model.named_parameters()) see(name, true, parameter->variable.grad());
}

void HeadroomMeter::see(const std::string& module, bool backward, const Magnitudes& seen) {
  Room& room = rooms_[module];
  room.module = module;
  (backward ? room.gradients : room.activations).merge(seen);
}

std::vector<Room> HeadroomMeter::rooms() const {
  std::vector<Room> all;
  for (const auto& [module, room] : rooms_) all.push_back(room);
  return all;
}

Tightest tightest_above(const std::vector<Room>& rooms, bool gradients) {
  Tightest tightest;
  for (const Room& room : rooms) {
    const Magnitudes& seen = gradients ? room.gradients : room.activations;
    if (seen.nonzero() == 0 && seen.finite()) continue;
    const double binades = overflow_binades(seen);
    if (tightest.room == nullptr || binades < tightest.binades) tightest = {&room, gradients, binades};
  }
  return tightest;
}

Tightest tightest_below(const std::vector<Room>& rooms) {
  Tightest tightest;
  for (const Room& room : rooms) {
    if (room.gradients.nonzero() == 0) continue;
    const double binades = underflow_binades(room.gradients);
    if (tightest.room == nullptr || binades < tightest.binades) tightest = {&room, true, binades};
  }
  return tightest;
}

std::string headroom_table(const std::vector<Room>& rooms, size_t rows) {
  std::vector<const Room*> sorted;
  for (const Room& room : rooms) sorted.push_back(&room);
  const auto room_above = [](const Room& room) {
    return std::min(overflow_binades(room.activations), overflow_binades(room.gradients));
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Room* a, const Room* b) { return room_above(*a) < room_above(*b); });
  std::string table = "  to overflow       to underflow\n  activ.  gradient  gradient median  module";
  for (size_t i = 0; i < std::min(rows, sorted.size()); ++i) {
    char line[64];
    std::snprintf(line, sizeof line, "\n  %6.1f  %8.1f  %15.1f  ", overflow_binades(sorted[i]->activations),
                  overflow_binades(sorted[i]->gradients), underflow_binades(sorted[i]->gradients));
    table += line + (sorted[i]->module.empty() ? "(outside modules)" : sorted[i]->module);
  }
  if (sorted.size() > rows) table += str_cat("\n  ... and ", sorted.size() - rows, " with more room");
  return table;
}

}  // namespace osprey
