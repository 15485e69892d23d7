#pragma once

#include <string>

#include "core/nn/module.h"

namespace osprey {

// Copies into the model what fits by name and shape. Names of older releases are understood as the reference
// does: a leading "module." (DataParallel), `conv2_offset` for a deformable convolution's `conv2.conv_offset`
// (before mmcv 1.0). BatchNorm's counters, which old files lack, count as neither missing nor unexpected.
LoadReport match_weights(Module& model, const StateDict& weights);

// The report in mmcv's words, several lines; long lists are folded by their common prefixes. "" when clean.
std::string describe_mismatch(const LoadReport& report);
// The same on one line, for an error.
std::string summarise_mismatch(const LoadReport& report);

// For training on (load_from): logs what did not match, as mmcv does: another number of classes leaves its
// heads as they were drawn. Throws UserError when a weight is not finite or nothing matched at all.
void load_weights(Module& model, const StateDict& weights, const std::string& path);

// For evaluating: a tensor of another size, or more than a quarter of the model's or the file's names without
// a partner, mean another model, whose metrics would mean nothing: UserError. Less is logged.
void load_weights_to_test(Module& model, const StateDict& weights, const std::string& path);

}  // namespace osprey
