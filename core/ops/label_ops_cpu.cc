#include "core/backend/cpu/rows_cpu.h"
#include "core/ops/label_ops_kernel.h"

namespace osprey {

OSPREY_ROWS_CPU(ReplaceLabel);
OSPREY_ROWS_CPU(GatherInteger);

}  // namespace osprey
