#include "core/anchor/anchor_kernel.h"
#include "core/backend/cuda/rows_cuda.cuh"

namespace osprey {

OSPREY_ROWS_CUDA(CellAnchors);
OSPREY_ROWS_CUDA(CellValid);
OSPREY_ROWS_CUDA(AnchorInside);
OSPREY_ROWS_CUDA(HideAnchor);
OSPREY_ROWS_CUDA(IgnoreHidden);
OSPREY_ROWS_CUDA(SetPositive);
OSPREY_ROWS_CUDA(SetNegative);

}  // namespace osprey
