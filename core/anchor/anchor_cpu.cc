#include "core/anchor/anchor_kernel.h"
#include "core/backend/cpu/rows_cpu.h"

namespace osprey {

OSPREY_ROWS_CPU(CellAnchors);
OSPREY_ROWS_CPU(CellValid);
OSPREY_ROWS_CPU(AnchorInside);
OSPREY_ROWS_CPU(HideAnchor);
OSPREY_ROWS_CPU(IgnoreHidden);
OSPREY_ROWS_CPU(SetPositive);
OSPREY_ROWS_CPU(SetNegative);

}  // namespace osprey
