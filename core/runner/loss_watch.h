#pragma once

#include <cstdint>
#include <deque>

namespace osprey {

// Tells an explosion, a loss that is finite but far beyond all before it, from noise: more than 1e4 times the
// median of the last 101 committed losses.
class LossWatch {
 public:
  bool explodes(double loss) const;
  void committed(double loss);
  double median() const;  // 0 without losses

  static constexpr double kFactor = 1e4;

 private:
  std::deque<double> recent_;
};

}  // namespace osprey
