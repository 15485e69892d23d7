#include "models/backbones/resnet_v1d.h"

namespace osprey {

OSPREY_REGISTER(Backbone, ResNetV1d);

}  // namespace osprey
