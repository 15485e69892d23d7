#pragma once

#include "core/detection/detector.h"
#include "core/nn/module.h"

namespace osprey {

// What a run does with the ranks of world() beside its gradients. All of it is collective, and nothing with
// one rank.

// mmdetection's parse_losses: each value becomes its mean over the ranks. `numbers` are those of the entries,
// then the total. Throws Error when the ranks' losses have different names.
void average_losses(const LossDict& losses, std::vector<double>& numbers);

// Parameters and buffers of rank 0 for all.
void broadcast_model(Module& model);
// Buffers of rank 0 for all (mmcv's broadcast_bn_buffer).
void broadcast_buffers(Module& model);
// Floating buffers (BatchNorm's statistics) become their mean over the ranks; counters stay.
void average_buffers(Module& model);

}  // namespace osprey
