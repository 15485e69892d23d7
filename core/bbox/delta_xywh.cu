#include "core/backend/cuda/rows_cuda.cuh"
#include "core/bbox/delta_xywh_kernel.h"

namespace osprey {

OSPREY_ROWS_CUDA(EncodeBox);
OSPREY_ROWS_CUDA(DecodeBox);
OSPREY_ROWS_CUDA(DecodeBoxGrad);

}  // namespace osprey
