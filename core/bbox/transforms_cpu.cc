#include "core/backend/cpu/rows_cpu.h"
#include "core/bbox/transforms_kernel.h"

namespace osprey {

OSPREY_ROWS_CPU(MapBox);
OSPREY_ROWS_CPU(CopyBox);
OSPREY_ROWS_CPU(ZeroNonfinite);
OSPREY_ROWS_CPU(RoILevel);
OSPREY_ROWS_CPU(ScaleRoI);

}  // namespace osprey
