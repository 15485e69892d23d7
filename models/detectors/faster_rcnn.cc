#include "models/detectors/faster_rcnn.h"

namespace osprey {

OSPREY_REGISTER(Detector, FasterRCNN);

}  // namespace osprey
