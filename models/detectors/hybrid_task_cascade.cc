#include "models/detectors/hybrid_task_cascade.h"

namespace osprey {

OSPREY_REGISTER(Detector, HybridTaskCascade);

}  // namespace osprey
