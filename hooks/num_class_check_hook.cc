#include "core/runner/runner.h"

namespace osprey {
namespace {

// Before the first iteration: every head must be built for the data set's number of classes. One error lists
// all places that disagree.
class NumClassCheckHook final : public Hook {
 public:
  explicit NumClassCheckHook(const ConfigNode&) {}

  void check(Runner& runner) override {
    const int64_t classes = static_cast<int64_t>(runner.classes().size());
    if (classes == 0) return;  // the data set names none
    std::vector<std::string> wrong;
    for (const auto& [head, count] : runner.model().num_classes_by_head()) {
      if (count != classes) wrong.push_back(str_cat("model.", head, ".num_classes is ", count));
    }
    if (!wrong.empty())
      throw UserError(str_cat("the data set has ", classes, " classes, but ", join(wrong), "; set each to ",
                              classes, " or list the data set's `classes`"));
  }
};

OSPREY_REGISTER_HOOK(NumClassCheckHook);

}  // namespace
}  // namespace osprey
