#include "core/backend/cpu/map_cpu.h"
#include "core/ops/elementwise_kernel.h"

namespace osprey {

OSPREY_MAP_CPU(Add);
OSPREY_MAP_CPU(Subtract);
OSPREY_MAP_CPU(Multiply);
OSPREY_MAP_CPU(Scale);
OSPREY_MAP_CPU(Offset);
OSPREY_MAP_CPU(Lerp);
OSPREY_MAP_CPU(Relu);
OSPREY_MAP_CPU(ReluGrad);
OSPREY_MAP_CPU(AddRelu);
OSPREY_MAP_CPU(Sigmoid);
OSPREY_MAP_CPU(SigmoidGrad);
OSPREY_MAP_CPU(Exp);

}  // namespace osprey
