#include "models/detectors/retinanet.h"

namespace osprey {

OSPREY_REGISTER(Detector, RetinaNet);

}  // namespace osprey
