#pragma once

#include <string>

#include "core/nn/module.h"

// For layers whose entries of a state dict do not all come from there as they are.
namespace osprey {

// Files that were made before the layer took its present form.
class StateUpgrade {
 public:
  virtual ~StateUpgrade() = default;
  // Before a state dict is loaded: renames or adds what this module, whose names begin with `prefix` ("" or
  // "neck.conv."), expects and `state` has under another name or can yield.
  virtual void upgrade_state(const std::string& prefix, StateDict& state) const = 0;
};

// Buffers that belong to a weight.
class FollowsWeight {
 public:
  virtual ~FollowsWeight() = default;
  // After the weight has been drawn anew.
  virtual void weight_drawn() = 0;
};

}  // namespace osprey
