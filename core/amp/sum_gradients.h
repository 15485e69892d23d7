#pragma once

#include "core/amp/master_weights.h"
#include "core/parallel/gradient_buckets.h"

namespace osprey {

// The masters' gradients, summed over all ranks in f32. A parameter that some ranks did not use counts zero
// there; one that nobody used stays without a gradient, and the optimizer passes it over as in one process.
void sum_gradients(const MasterWeights& weights, const BucketOptions& options);

}  // namespace osprey
