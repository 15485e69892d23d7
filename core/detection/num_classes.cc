#include "core/detection/num_classes.h"

namespace osprey {

void check_num_classes(const Detector& model, int64_t classes) {
  if (classes == 0) return;
  std::vector<std::string> wrong;
  for (const auto& [head, count] : model.num_classes_by_head()) {
    if (count != classes) wrong.push_back(str_cat("model.", head, ".num_classes is ", count));
  }
  if (!wrong.empty())
    throw UserError(str_cat("the data set has ", classes, " classes, but ", join(wrong), "; set each to ",
                            classes, " or list the data set's `classes`"));
}

}  // namespace osprey
