#include "core/backend/cuda/map_cuda.cuh"
#include "core/ops/losses_kernel.h"

namespace osprey {

OSPREY_MAP_CUDA(BceWithLogits);
OSPREY_MAP_CUDA(BceWithLogitsGrad);
OSPREY_MAP_CUDA(WeightedBce);
OSPREY_MAP_CUDA(WeightedBceSlope);
OSPREY_MAP_CUDA(SmoothL1);
OSPREY_MAP_CUDA(SmoothL1Grad);
OSPREY_MAP_CUDA(Absolute);
OSPREY_MAP_CUDA(AbsoluteGrad);
OSPREY_MAP_CUDA(BalancedL1);
OSPREY_MAP_CUDA(BalancedL1Grad);
OSPREY_MAP_CUDA(FocalLossOf);
OSPREY_MAP_CUDA(FocalLossGrad);

}  // namespace osprey
