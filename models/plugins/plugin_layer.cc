#include "models/plugins/plugin_layer.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(PluginLayer, "plugin layer");

}  // namespace osprey
