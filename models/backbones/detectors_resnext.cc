#include "models/backbones/detectors_resnext.h"

namespace osprey {

DetectoRS_ResNeXt::DetectoRS_ResNeXt(const ConfigNode& cfg)
    : DetectoRS_ResNet(cfg, {.deep_stem = cfg.get("deep_stem", false),
                             .avg_down = cfg.get("avg_down", false),
                             .groups = cfg.get("groups", int64_t{1}, positive()),
                             .base_width = cfg.get("base_width", int64_t{4}, positive())}) {}

OSPREY_REGISTER(Backbone, DetectoRS_ResNeXt);

}  // namespace osprey
