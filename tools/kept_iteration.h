#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/runner/iteration_dump.h"

namespace osprey {

// An iteration from WORK_DIR/numerics/iter_N, ready to be repeated: its model with its weights, its batch.
class KeptIteration {
 public:
  // `precision`: the model's, when not the logged one. Throws UserError for a damaged folder, or a config
  // whose model this program cannot build.
  KeptIteration(const std::string& folder, Device device, std::optional<DType> precision);

  const IterationRecord& record() const { return dump_.record; }
  Scene scene();
  // Whether a replay at the logged scale must have the logged numbers, bit for bit.
  bool must_agree() const { return why_not_.empty(); }
  // Else why it need not: "computed on cuda:0, now on cpu"; "" otherwise.
  const std::string& why_not() const { return why_not_; }

 private:
  IterationDump dump_;
  std::string why_not_;
  std::unique_ptr<Detector> model_;
  std::unique_ptr<MasterWeights> weights_;
  FireDrill fire_drill_;
};

}  // namespace osprey
