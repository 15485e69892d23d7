#include "core/backend/cuda/launch.cuh"
#include "core/bbox/tblr_kernel.h"

namespace osprey {
namespace {

template <typename F>
void run(Device device, int64_t rows, const F& f) {
  parallel_for_cuda(device, rows, f);
}

OSPREY_REGISTER_KERNEL(tblr_encode_kernel, DeviceType::kCUDA, run<EncodeTblr>);
OSPREY_REGISTER_KERNEL(tblr_decode_kernel, DeviceType::kCUDA, run<DecodeTblr>);
OSPREY_REGISTER_KERNEL(tblr_decode_grad_kernel, DeviceType::kCUDA, run<DecodeTblrGrad>);

}  // namespace
}  // namespace osprey
