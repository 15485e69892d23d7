#include "core/data/pipelines/flip_direction.h"

#include <algorithm>

namespace osprey {

std::vector<std::string> read_flip_directions(const ConfigNode& cfg, const std::string& key) {
  const std::vector<std::string> allowed = {"horizontal", "vertical", "diagonal"};
  const ConfigNode node = cfg.find(key);
  if (!node.is_list()) return {cfg.choice(key, "horizontal", allowed)};
  const auto directions = node.as<std::vector<std::string>>();
  for (const std::string& name : directions) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      node.fail(str_cat("unknown direction '", name, "'; allowed: ", join(allowed)));
    }
  }
  if (directions.empty()) node.fail("names no direction");
  return directions;
}

}  // namespace osprey
