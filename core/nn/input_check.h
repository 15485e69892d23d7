#pragma once

#include "core/nn/module.h"

namespace osprey {

// Throws UserError, naming the layer, unless `taken`, the number of input features that its weight is for, is
// `given`: two parts of a config that do not fit are found here first, e.g. a neck's in_channels.
inline void check_input_features(const Module& layer, const char* what, int64_t taken, int64_t given) {
  if (taken == given) return;
  throw UserError(str_cat(layer.path().empty() ? "layer" : layer.path(), ": takes ", taken, " ", what,
                          ", gets ", given,
                          "; sizes in the config (in_channels, out_channels, output_size, ...) do not fit"));
}

}  // namespace osprey
