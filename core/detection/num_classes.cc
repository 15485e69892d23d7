#include "core/detection/num_classes.h"

namespace osprey {

std::string place_of(const ConfigNode& config, const std::string& key) {
  if (!config.is_map()) return "";
  try {
    const ConfigOrigin& origin = config.at_path(key).origin();
    if (origin.line == 0) return origin.file.empty() ? "" : " (" + origin.file + ")";
    return str_cat(" (", origin.file, ":", origin.line, ":", origin.column, ")");
  } catch (const UserError&) {
    return "";
  }
}

void check_num_classes(const Detector& model, int64_t classes, const ConfigNode& config) {
  if (classes == 0) return;
  std::vector<std::string> wrong;
  for (const auto& [head, count] : model.num_classes_by_head()) {
    const std::string key = "model." + head + ".num_classes";
    if (count != classes) wrong.push_back(str_cat(key, " is ", count, place_of(config, key)));
  }
  if (!wrong.empty())
    throw UserError(str_cat("the data set has ", classes, " classes, but ", join(wrong), "; set each to ",
                            classes, " or list the data set's `classes`"));
}

}  // namespace osprey
