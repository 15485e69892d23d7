#include "core/backend/cpu/launch.h"
#include "core/bbox/tblr_kernel.h"

namespace osprey {
namespace {

template <typename F>
void run(Device, int64_t rows, const F& f) {
  parallel_for_cpu(rows, f);
}

OSPREY_REGISTER_KERNEL(tblr_encode_kernel, DeviceType::kCPU, run<EncodeTblr>);
OSPREY_REGISTER_KERNEL(tblr_decode_kernel, DeviceType::kCPU, run<DecodeTblr>);
OSPREY_REGISTER_KERNEL(tblr_decode_grad_kernel, DeviceType::kCPU, run<DecodeTblrGrad>);

}  // namespace
}  // namespace osprey
