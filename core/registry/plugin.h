#pragma once

#include <string>

#include "core/config/config.h"

namespace osprey {

// Loads the shared libraries of `plugins: [path.so, ...]`, whose types register themselves; call it before
// anything is built. A relative path is looked for beside the config file that names it, then in the working
// directory. Plugins stay loaded until the process ends. Throws UserError, with the line of the config, for a
// missing file, for what is no plugin, for a plugin whose stamp is not `version` (the hash of the headers that
// this program offers to plugins), and for a type name that is taken. Returns the config with absolute paths,
// so that its dump finds them from anywhere.
ConfigNode load_plugins(const ConfigNode& root, const std::string& version);

}  // namespace osprey
