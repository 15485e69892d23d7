#pragma once

#include "core/config/config.h"

namespace osprey {

// The `model` block of a config, with train_cfg and test_cfg moved in when they stand at the top level, where
// mmdetection takes them, too. Throws UserError when one is in both places.
ConfigNode detector_config(const ConfigNode& root);

// The block of a model that a whole checkpoint is about to fill, or whose weights do not matter: the file
// that `pretrained` names is not needed.
ConfigNode without_pretrained(const ConfigNode& model);

}  // namespace osprey
