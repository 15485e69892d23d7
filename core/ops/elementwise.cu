#include "core/backend/cuda/map_cuda.cuh"
#include "core/ops/elementwise_kernel.h"

namespace osprey {

OSPREY_MAP_CUDA(Add);
OSPREY_MAP_CUDA(Subtract);
OSPREY_MAP_CUDA(Multiply);
OSPREY_MAP_CUDA(Scale);
OSPREY_MAP_CUDA(Offset);
OSPREY_MAP_CUDA(Lerp);
OSPREY_MAP_CUDA(Relu);
OSPREY_MAP_CUDA(ReluGrad);
OSPREY_MAP_CUDA(AddRelu);
OSPREY_MAP_CUDA(Sigmoid);
OSPREY_MAP_CUDA(SigmoidGrad);
OSPREY_MAP_CUDA(Exp);

}  // namespace osprey
