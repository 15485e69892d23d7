#include "core/registry/registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace osprey {
namespace {

std::vector<RegisteredType>& all_types() {
  static std::vector<RegisteredType> types;
  return types;
}

}  // namespace

std::vector<RegisteredType> registered_types() {
  std::vector<RegisteredType> types = all_types();
  std::sort(types.begin(), types.end(), [](const RegisteredType& a, const RegisteredType& b) {
    return std::tie(a.kind, a.type) < std::tie(b.kind, b.type);
  });
  return types;
}

}  // namespace osprey

namespace osprey::internal {

// The second class of a name is no type: duplicate_type() tells of it.
void note_type(RegisteredType type) {
  const auto same = [&](const RegisteredType& other) {
    return other.kind == type.kind && other.type == type.type;
  };
  std::vector<RegisteredType>& types = all_types();
  if (std::none_of(types.begin(), types.end(), same)) types.push_back(std::move(type));
}

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
