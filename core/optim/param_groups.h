#pragma once

#include <vector>

#include "core/optim/optimizer.h"

namespace osprey {

// Groups of masters for an optimizer. Without `paramwise_cfg` (a key of the optimizer's config)
// all share one group. With it, each parameter gets its own, by mmcv's DefaultOptimizerConstructor:
// custom_keys {pattern: {lr_mult, decay_mult}} (the longest pattern that occurs in the name wins and
// excludes the other rules), bias_lr_mult, bias_decay_mult, norm_decay_mult, dwconv_decay_mult,
// dcn_offset_lr_mult, bypass_duplicate. All multipliers default to 1.
std::vector<ParamGroup> build_param_groups(const ConfigNode& optimizer_cfg, const Optimizer& optimizer,
                                           const std::vector<MasterParameter*>& params);

}  // namespace osprey
