#include "models/backbones/resnext.h"

namespace osprey {

ResNeXt::ResNeXt(const ConfigNode& cfg)
    : ResNet(cfg, {.deep_stem = cfg.get("deep_stem", false),
                   .avg_down = cfg.get("avg_down", false),
                   .groups = cfg.get("groups", int64_t{1}, positive()),
                   .base_width = cfg.get("base_width", int64_t{4}, positive())}) {
  const int64_t depth = cfg.get<int64_t>("depth");
  if (depth < 50) cfg["depth"].fail(str_cat("ResNeXt has depth 50, 101 or 152, got ", depth));
}

OSPREY_REGISTER(Backbone, ResNeXt);

}  // namespace osprey
