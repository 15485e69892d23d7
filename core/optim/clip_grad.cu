#include <algorithm>

#include "core/backend/cuda/launch.cuh"
#include "core/optim/clip_grad_kernel.h"

namespace osprey {
namespace {

// Chunk j joins elements j, j + chunks, ...
struct JoinElements {
  const float* grad;
  int64_t n, chunks;
  double p;
  double* partial;
  OSPREY_HD void operator()(int64_t chunk) const {
    double total = 0;
    for (int64_t i = chunk; i < n; i += chunks) total = join_norms(total, norm_term(grad[i], p), p);
    partial[chunk] = total;
  }
};

struct JoinChunks {
  const double* in;
  int64_t chunks, folded;
  double p;
  double* out;
  OSPREY_HD void operator()(int64_t target) const {
    double total = 0;
    for (int64_t chunk = target; chunk < chunks; chunk += folded) total = join_norms(total, in[chunk], p);
    out[target] = total;
  }
};

int64_t chunks_of(const Tensor& grad) { return std::clamp<int64_t>(grad.numel() / 64, 1, 1 << 14); }

// One small launch for each tensor, one wait of the host at the end of all.
void grad_norm_cuda(const Tensors& grads, double p, double* total) {
  const Device device = grads.front().device();
  int64_t chunks = 0;
  for (const Tensor& grad : grads) chunks += chunks_of(grad);
  Tensor partial({chunks}, DType::kF64, device);
  double* next = partial.mutable_data<double>();
  for (const Tensor& grad : grads) {
    const int64_t count = chunks_of(grad);
    parallel_for_cuda(device, count, JoinElements{grad.data<float>(), grad.numel(), count, p, next});
    next += count;
  }
  while (chunks > 1) {
    const int64_t folded = (chunks + 63) / 64;
    Tensor joined({folded}, DType::kF64, device);
    parallel_for_cuda(device, folded,
                      JoinChunks{partial.data<double>(), chunks, folded, p, joined.mutable_data<double>()});
    partial = joined;
    chunks = folded;
  }
  *total = partial.item();
}

OSPREY_REGISTER_KERNEL(grad_norm_kernel, DeviceType::kCUDA, grad_norm_cuda);

}  // namespace
}  // namespace osprey
