#include "models/roi_heads/bbox_heads/shared_4conv_1fc_bbox_head.h"

namespace osprey {

OSPREY_REGISTER(BBoxHead, Shared4Conv1FCBBoxHead);

}  // namespace osprey
