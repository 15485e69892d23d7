#include "core/bbox/bbox_coder.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(BBoxCoder, "bbox coder");

}  // namespace osprey
