#include "core/detection/detector.h"

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Detector, "detector");

namespace {

bool is_loss(const std::string& name) { return name.find("loss") != std::string::npos; }

// mmdetection logs and sums the mean of whatever a head returns. Halves become f32, f64 stays for gradient
// checks.
Variable scalar(const Variable& value) {
  const Variable reduced = value.shape().empty() ? value : mean(value);
  return is_half(reduced.dtype()) ? cast(reduced, DType::kF32) : reduced;
}

}  // namespace

void LossDict::add(const std::string& name, Variable value) { entries_.emplace_back(name, scalar(value)); }

void LossDict::add(const std::string& name, const Variables& values) {
  OSPREY_REQUIRE(!values.empty(), "LossDict: '", name, "' is an empty list");
  Variable sum = scalar(values[0]);
  for (size_t i = 1; i < values.size(); ++i) sum = sum + scalar(values[i]);
  entries_.emplace_back(name, sum);
}

void LossDict::merge(const std::string& prefix, const LossDict& other, double weight) {
  for (const auto& [name, value] : other.entries_)
    entries_.emplace_back(prefix + name, is_loss(name) && weight != 1 ? weight * value : value);
}

Variable LossDict::total() const {
  Variable total;
  for (const auto& [name, value] : entries_) {
    if (is_loss(name)) total = total.defined() ? total + value : value;
  }
  OSPREY_REQUIRE(total.defined(), "the detector returned no value whose name contains 'loss'");
  return total;
}

std::vector<DetectionResult> Detector::aug_test(const std::vector<Batch>&, bool) {
  throw Error(
      "this detector has no test-time augmentation: use one scale and flip: false in "
      "MultiScaleFlipAug");
}

}  // namespace osprey
