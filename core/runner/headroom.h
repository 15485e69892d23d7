#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "core/ops/magnitudes.h"

namespace osprey {

// What half (f16) would do to magnitudes multiplied by `factor`.
struct HalfForecast {
  int64_t overflowed = 0;  // elements that become inf
  int64_t flushed = 0;     // elements that become 0 and are not 0 now
};
// Counts by binades: exact for powers of two but for elements that come to exactly 2^-25, and for those in
// half's last binade, of which only the largest is known.
HalfForecast forecast_half(const Magnitudes& seen, double factor);

// Binades between the largest magnitude and half's overflow at 65520; 16 when there is no number but 0.
double overflow_binades(const Magnitudes& seen);
// Binades between half's smallest number 2^-24 and the median magnitude of the elements that are not 0: every
// one less flushes more of them to 0. 40 (half's whole range) when there are none.
double underflow_binades(const Magnitudes& seen);

// What one module made in half in one iteration.
struct Room {
  std::string module;  // or the parameter, for its whole gradient
  Magnitudes activations, gradients;
};

// Collects what the ops of an iteration make in f16, by module.
class HeadroomMeter {
 public:
  // Values of another dtype are left out.
  void see(const std::string& module, bool backward, const Tensor& value);
  // The parameters' whole gradients, in half, before anybody takes them.
  void see_gradients(Module& model);
  void see(const std::string& module, bool backward, const Magnitudes& seen);

  bool empty() const { return rooms_.empty(); }
  std::vector<Room> rooms() const;  // by name

 private:
  std::map<std::string, Room> rooms_;
};

// The module with the least room to overflow, in activations or in gradients; null without modules.
struct Tightest {
  const Room* room = nullptr;
  bool gradients = false;
  double binades = 0;
};
Tightest tightest_above(const std::vector<Room>& rooms, bool gradients);
Tightest tightest_below(const std::vector<Room>& rooms);  // gradients, to underflow

// Modules with their binades, the tightest first, at most `rows` of them; for the log.
std::string headroom_table(const std::vector<Room>& rooms, size_t rows);

}  // namespace osprey
