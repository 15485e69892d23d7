#include "core/backend/cpu/rows_cpu.h"
#include "core/bbox/delta_xywh_kernel.h"

namespace osprey {

OSPREY_ROWS_CPU(EncodeBox);
OSPREY_ROWS_CPU(DecodeBox);
OSPREY_ROWS_CPU(DecodeBoxGrad);

}  // namespace osprey
