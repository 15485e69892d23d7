#include "models/backbones/resnet_stage.h"

namespace osprey {

ResNetDepth read_resnet_depth(const ConfigNode& cfg) {
  const int64_t depth = cfg.get<int64_t>("depth");
  switch (depth) {
    case 18:
      return {false, {2, 2, 2, 2}};
    case 34:
      return {false, {3, 4, 6, 3}};
    case 50:
      return {true, {3, 4, 6, 3}};
    case 101:
      return {true, {3, 4, 23, 3}};
    case 152:
      return {true, {3, 8, 36, 3}};
  }
  cfg["depth"].fail(str_cat("depth must be 18, 34, 50, 101 or 152, got ", depth));
}

std::unique_ptr<ModuleList<ResidualBlock>> make_resnet_stage(const ResNetDepth& depth, int64_t blocks,
                                                             ResBlockSpec spec) {
  auto stage = std::make_unique<ModuleList<ResidualBlock>>();
  for (int64_t i = 0; i < blocks; ++i) {
    if (depth.bottleneck) {
      stage->append(std::make_unique<Bottleneck>(spec));
    } else {
      stage->append(std::make_unique<BasicBlock>(spec));
    }
    spec.in_channels = spec.planes * depth.expansion();
    spec.stride = 1;
    spec.rfp_inplanes = 0;
  }
  return stage;
}

}  // namespace osprey
