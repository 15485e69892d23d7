#pragma once

#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// Turns a backbone's maps into the pyramid that the heads look at. Registered in models/necks.
class Neck : public Module {
 public:
  // feats[i] (n, h_i, w_i, in_channels[i]), finest first -> one map (n, h, w, out_channels) per level.
  virtual Variables forward(const Variables& feats) const = 0;
};

OSPREY_DECLARE_REGISTRY(Neck);

}  // namespace osprey
