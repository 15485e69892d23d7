#include "core/backend/cuda/map_cuda.cuh"
#include "core/ops/quality_losses_kernel.h"

namespace osprey {

OSPREY_MAP_CUDA(QualityFocal);
OSPREY_MAP_CUDA(QualityFocalGrad);
OSPREY_MAP_CUDA(Varifocal);
OSPREY_MAP_CUDA(VarifocalGrad);
OSPREY_MAP_CUDA(GaussianFocal);
OSPREY_MAP_CUDA(GaussianFocalGrad);
OSPREY_MAP_CUDA(AuthenticSmoothL1);
OSPREY_MAP_CUDA(AuthenticSmoothL1Grad);
OSPREY_MAP_CUDA(LogitGradientLength);
OSPREY_MAP_CUDA(DiffGradientLength);

}  // namespace osprey
