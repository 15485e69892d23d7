#include "core/detection/num_classes.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

// Before the first iteration: every head must be built for the data set's number of classes.
class NumClassCheckHook final : public Hook {
 public:
  explicit NumClassCheckHook(const ConfigNode&) {}

  void check(Runner& runner) override {
    check_num_classes(runner.model(), static_cast<int64_t>(runner.classes().size()), runner.config());
  }
};

OSPREY_REGISTER_HOOK(NumClassCheckHook);

}  // namespace
}  // namespace osprey
