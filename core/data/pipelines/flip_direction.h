#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace osprey {

// Reads one direction or a list of them: "horizontal" (the default), "vertical", "diagonal" (both). Throws
// UserError.
std::vector<std::string> read_flip_directions(const ConfigNode& cfg, const std::string& key);

}  // namespace osprey
