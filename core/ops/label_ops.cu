#include "core/backend/cuda/rows_cuda.cuh"
#include "core/ops/label_ops_kernel.h"

namespace osprey {

OSPREY_ROWS_CUDA(ReplaceLabel);
OSPREY_ROWS_CUDA(GatherInteger);

}  // namespace osprey
