#pragma once

#include <memory>
#include <vector>

#include "models/backbones/res_block.h"

namespace osprey {

// He et al., "Deep Residual Learning for Image Recognition", Table 1.
struct ResNetDepth {
  bool bottleneck;
  std::vector<int64_t> blocks;  // per stage
  int64_t expansion() const { return bottleneck ? Bottleneck::kExpansion : BasicBlock::kExpansion; }
};

// Key `depth`: 18, 34, 50, 101 or 152.
ResNetDepth read_resnet_depth(const ConfigNode& cfg);

// `blocks` residual blocks. `first` describes the first one; the others keep size and channels, and nothing
// comes back to them from a neck.
std::unique_ptr<ModuleList<ResidualBlock>> make_resnet_stage(const ResNetDepth& depth, int64_t blocks,
                                                             ResBlockSpec first);

}  // namespace osprey
