#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace osprey {

// The `classes` of a dataset: a list of names, or the path of a text file with one name per line; `fallback`
// when the key is absent. Throws UserError, also for a name given twice.
std::vector<std::string> read_classes(const ConfigNode& cfg, const std::vector<std::string>& fallback);

}  // namespace osprey
