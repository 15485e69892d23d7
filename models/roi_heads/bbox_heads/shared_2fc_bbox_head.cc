#include "models/roi_heads/bbox_heads/shared_2fc_bbox_head.h"

namespace osprey {

OSPREY_REGISTER(BBoxHead, Shared2FCBBoxHead);

}  // namespace osprey
