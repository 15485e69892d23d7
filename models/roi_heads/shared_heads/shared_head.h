#pragma once

#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// What the box and the mask head of a C4 detector look through together. Registered in
// models/roi_heads/shared_heads.
class SharedHead : public Module {
 public:
  // (k, h, w, c) -> (k, oh, ow, oc), of RoIs.
  virtual Variable forward(const Variable& roi_feats) const = 0;
  // The part that a backbone's checkpoint also has, and its name there; null: none.
  virtual std::pair<std::string, Module*> pretrained_part() { return {"", nullptr}; }
};

OSPREY_DECLARE_REGISTRY(SharedHead);

}  // namespace osprey
