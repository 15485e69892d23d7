#include "models/necks/neck.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Neck, "neck");

}  // namespace osprey
