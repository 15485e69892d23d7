#include "core/backend/cpu/map_cpu.h"
#include "core/ops/quality_losses_kernel.h"

namespace osprey {

OSPREY_MAP_CPU(QualityFocal);
OSPREY_MAP_CPU(QualityFocalGrad);
OSPREY_MAP_CPU(Varifocal);
OSPREY_MAP_CPU(VarifocalGrad);
OSPREY_MAP_CPU(GaussianFocal);
OSPREY_MAP_CPU(GaussianFocalGrad);
OSPREY_MAP_CPU(AuthenticSmoothL1);
OSPREY_MAP_CPU(AuthenticSmoothL1Grad);
OSPREY_MAP_CPU(LogitGradientLength);
OSPREY_MAP_CPU(DiffGradientLength);

}  // namespace osprey
