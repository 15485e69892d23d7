#pragma once

#include "core/config/config.h"

namespace osprey {

// The `model` block of a config, with train_cfg and test_cfg moved in when they stand at the top level, where
// mmdetection takes them, too. Throws UserError when one is in both places.
ConfigNode detector_config(const ConfigNode& root);

}  // namespace osprey
