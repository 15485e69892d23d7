#include "core/data/class_names.h"

#include <fstream>
#include <set>

namespace osprey {
namespace {

std::vector<std::string> read_lines(const ConfigNode& node) {
  const auto path = node.as<std::string>();
  std::ifstream file(path);
  if (!file) {
    node.fail(str_cat("'", path, "' is no file with one class per line; a list of one class is written ['",
                      path, "']"));
  }
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

}  // namespace

std::vector<std::string> read_classes(const ConfigNode& cfg, const std::vector<std::string>& fallback) {
  const ConfigNode node = cfg.find("classes");
  if (node.is_null()) return fallback;
  const std::vector<std::string> names =
      node.is_list() ? node.as<std::vector<std::string>>() : read_lines(node);
  if (names.empty()) node.fail("names no class");
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second) node.fail(str_cat("names '", name, "' twice"));
  }
  return names;
}

}  // namespace osprey
