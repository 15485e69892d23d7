#include "core/backend/cpu/launch.h"
#include "core/bbox/point_distance_kernel.h"

namespace osprey {
namespace {

template <typename F>
void run(Device, int64_t rows, const F& f) {
  parallel_for_cpu(rows, f);
}

OSPREY_REGISTER_KERNEL(distance2bbox_kernel, DeviceType::kCPU, run<BoxOfDistances>);
OSPREY_REGISTER_KERNEL(bbox2distance_kernel, DeviceType::kCPU, run<DistancesOfBox>);

}  // namespace
}  // namespace osprey
