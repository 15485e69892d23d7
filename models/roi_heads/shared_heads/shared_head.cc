#include "models/roi_heads/shared_heads/shared_head.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(SharedHead, "shared head");

}  // namespace osprey
