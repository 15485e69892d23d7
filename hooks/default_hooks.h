#pragma once

#include "core/runner/runner.h"

namespace osprey {

// Registers what a config asks for, in mmcv's order: lr_config, momentum_config, optimizer_config
// (Fp16OptimizerHook when the key fp16 or bf16 is there), checkpoint_config, the timer, log_config. With an
// iteration-based runner their by_epoch defaults to false.
void register_training_hooks(Runner& runner, const ConfigNode& config);

// `custom_hooks: [{type: EMAHook, priority: 49, ...}]`.
void register_custom_hooks(Runner& runner, const ConfigNode& config);

// The hook that `optimizer_config` and `fp16` or `bf16` mean, as a buildable node.
ConfigNode optimizer_hook_config(const ConfigNode& config);

}  // namespace osprey
