// Compiled into every plugin by detection_plugin: says which headers it was built against.
#include "tools/plugins/plugin_version.h"

extern "C" __attribute__((visibility("default"), used)) const char osprey_plugin_version[] =
    "osprey plugin version " OSPREY_PLUGIN_VERSION;
