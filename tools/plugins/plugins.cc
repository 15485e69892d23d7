#include "tools/plugins/plugins.h"

#include "core/registry/plugin.h"
#include "tools/plugins/plugin_version.h"

namespace osprey {

ConfigNode load_plugins(const ConfigNode& root) { return load_plugins(root, OSPREY_PLUGIN_VERSION); }

}  // namespace osprey
