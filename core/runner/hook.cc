#include "core/runner/hook.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Hook, "hook");

}  // namespace osprey
