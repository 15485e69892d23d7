#include "core/runner/loss_watch.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace osprey {
namespace {

constexpr size_t kRecent = 101;
constexpr size_t kEnough = 5;  // the very first losses say little about the scale of a run

}  // namespace

bool LossWatch::explodes(double loss) const {
  return recent_.size() >= kEnough && std::isfinite(loss) && std::abs(loss) > kFactor * median();
}

void LossWatch::committed(double loss) {
  recent_.push_back(std::abs(loss));
  if (recent_.size() > kRecent) recent_.pop_front();
}

double LossWatch::median() const {
  if (recent_.empty()) return 0;
  std::vector<double> sorted(recent_.begin(), recent_.end());
  const auto middle = sorted.begin() + static_cast<int64_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace osprey
