#include "core/bbox/assigner.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(BBoxAssigner, "bbox assigner");

}  // namespace osprey
