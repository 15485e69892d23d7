#include "models/backbones/backbone.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Backbone, "backbone");

}  // namespace osprey
