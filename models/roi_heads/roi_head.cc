#include "models/roi_heads/roi_head.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(RoIHead, "roi head");

}  // namespace osprey
