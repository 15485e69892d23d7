#include "core/registry/registry.h"

#include <utility>

namespace osprey::internal {
namespace {

std::string& duplicate() {
  static std::string message;
  return message;
}

}  // namespace

void unknown_type(const ConfigNode& cfg, const std::string& kind, const std::string& type,
                  const std::vector<std::string>& registered) {
  const std::string near = nearest_match(type, registered);
  cfg["type"].fail("unknown " + kind + " '" + type +
                   "'; registered: " + (registered.empty() ? "none" : join(registered)) +
                   (near.empty() ? "" : ". Did you mean '" + near + "'?"));
}

void duplicate_type(const std::string& kind, const std::string& type) {
  duplicate() = "there is a " + kind + " '" + type + "' already: register this one under another name";
}

std::string take_duplicate_type() { return std::exchange(duplicate(), ""); }

void require_unique_types() {
  if (!duplicate().empty()) throw Error(duplicate());
}

}  // namespace osprey::internal
