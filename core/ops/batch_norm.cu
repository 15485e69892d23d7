#include "core/backend/cuda/map_cuda.cuh"
#include "core/ops/batch_norm_kernel.h"

namespace osprey {

OSPREY_MAP_CUDA(UpdateRunning);

}  // namespace osprey
