#pragma once

#include "core/data/sample.h"

namespace osprey {

// Joins samples into a batch with the keys that Collect named. Images are padded with 0 at the right and at
// the bottom to the largest of the batch, masks likewise, semantic maps with 255 (mmdetection 2.11 pads them
// with class 0). Requires: at least one sample; all went through the same pipeline. rng_seed is left alone.
Batch collate(const Samples& samples);

}  // namespace osprey
