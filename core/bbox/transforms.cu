#include "core/backend/cuda/rows_cuda.cuh"
#include "core/bbox/transforms_kernel.h"

namespace osprey {

OSPREY_ROWS_CUDA(MapBox);
OSPREY_ROWS_CUDA(CopyBox);
OSPREY_ROWS_CUDA(ZeroNonfinite);
OSPREY_ROWS_CUDA(RoILevel);
OSPREY_ROWS_CUDA(ScaleRoI);

}  // namespace osprey
