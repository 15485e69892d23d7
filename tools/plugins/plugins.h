#pragma once

#include "core/config/config.h"

namespace osprey {

// Loads the plugins that the config names and that were built against this program's headers; the contract is
// in core/registry/plugin.h.
ConfigNode load_plugins(const ConfigNode& root);

}  // namespace osprey
