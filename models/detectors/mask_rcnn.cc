#include "models/detectors/mask_rcnn.h"

namespace osprey {

OSPREY_REGISTER(Detector, MaskRCNN);

}  // namespace osprey
