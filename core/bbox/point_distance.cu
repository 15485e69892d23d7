#include "core/backend/cuda/launch.cuh"
#include "core/bbox/point_distance_kernel.h"

namespace osprey {
namespace {

template <typename F>
void run(Device device, int64_t rows, const F& f) {
  parallel_for_cuda(device, rows, f);
}

OSPREY_REGISTER_KERNEL(distance2bbox_kernel, DeviceType::kCUDA, run<BoxOfDistances>);
OSPREY_REGISTER_KERNEL(bbox2distance_kernel, DeviceType::kCUDA, run<DistancesOfBox>);

}  // namespace
}  // namespace osprey
