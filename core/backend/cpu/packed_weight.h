#pragma once

#include "core/backend/cpu/onednn.h"

namespace osprey::onednn {

// A weight in the layout (and precision) that a primitive asked for, kept with the weight's storage and
// renewed when the weight has changed (Storage::version). A frozen layer packs once, a trained one once a
// step however often it runs. `plain` describes the weight as it lies, in the weight's compute dtype: f16
// weights are widened on the way. Returns memory on the weight itself when nothing has to be done. Valid
// until the weight changes.
dnnl::memory packed_weight(const Tensor& weight, const dnnl::memory::desc& plain,
                           const dnnl::memory::desc& wanted);

}  // namespace osprey::onednn
