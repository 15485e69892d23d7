#include "core/backend/cpu/map_cpu.h"
#include "core/ops/losses_kernel.h"

namespace osprey {

OSPREY_MAP_CPU(BceWithLogits);
OSPREY_MAP_CPU(BceWithLogitsGrad);
OSPREY_MAP_CPU(WeightedBce);
OSPREY_MAP_CPU(WeightedBceSlope);
OSPREY_MAP_CPU(SmoothL1);
OSPREY_MAP_CPU(SmoothL1Grad);
OSPREY_MAP_CPU(Absolute);
OSPREY_MAP_CPU(AbsoluteGrad);
OSPREY_MAP_CPU(BalancedL1);
OSPREY_MAP_CPU(BalancedL1Grad);
OSPREY_MAP_CPU(FocalLossOf);
OSPREY_MAP_CPU(FocalLossGrad);

}  // namespace osprey
