#include "core/registry/registry.h"

namespace osprey::internal {

void unknown_type(const ConfigNode& cfg, const std::string& kind, const std::string& type,
                  const std::vector<std::string>& registered) {
  const std::string near = nearest_match(type, registered);
  cfg["type"].fail("unknown " + kind + " '" + type +
                   "'; registered: " + (registered.empty() ? "none" : join(registered)) +
                   (near.empty() ? "" : ". Did you mean '" + near + "'?"));
}

void duplicate_type(const std::string& kind, const std::string& type) {
  throw Error("two classes register as " + kind + " '" + type + "': give one of them another name");
}

}  // namespace osprey::internal
