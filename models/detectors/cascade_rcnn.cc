#include "models/detectors/cascade_rcnn.h"

namespace osprey {

OSPREY_REGISTER(Detector, CascadeRCNN);

}  // namespace osprey
