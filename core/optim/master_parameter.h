#pragma once

#include <string>

#include "core/nn/parameter.h"

namespace osprey {

// What an optimizer updates: one trainable tensor in f32, under its name in the state dict. In an f32 model
// `value` is the parameter itself; in a half model it is the master copy (core/amp/master_weights.h).
struct MasterParameter {
  std::string name;
  Tensor value;               // f32, stored layout; steps write into it
  Tensor grad;                // f32, same shape, already unscaled; undefined: none in this iteration
  WeightLayout layout;        // checkpoints hold the optimizer's state in the reference layout too
  bool requires_grad = true;  // frozen parameters are kept for checkpoints, never stepped
};

}  // namespace osprey
