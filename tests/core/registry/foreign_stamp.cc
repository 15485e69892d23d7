// What detection_plugin of another tree would have compiled in. Stops the process if it is ever loaded.
#include <cstdlib>

extern "C" __attribute__((visibility("default"), used)) const char osprey_plugin_version[] =
    "osprey plugin version 0123456789abcdef";

__attribute__((constructor)) static void stop() { std::abort(); }
