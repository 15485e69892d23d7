#pragma once

#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// Turns images into feature maps. Registered in models/backbones.
class Backbone : public Module {
 public:
  // img (n, h, w, 3) -> one map (n, h_i, w_i, c_i) per entry of out_indices, finest first.
  virtual Variables forward(const Variable& img) const = 0;
};

OSPREY_DECLARE_REGISTRY(Backbone);

}  // namespace osprey
