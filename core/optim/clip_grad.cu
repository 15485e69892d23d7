#include <algorithm>

#include "core/backend/cuda/multi_tensor.cuh"
#include "core/optim/clip_grad_kernel.h"

namespace osprey {
namespace {

constexpr int64_t kLanes = 256;  // partial results of a piece

struct GradItem {
  const float* grad;
  int64_t n;
};

// Lane j of a piece joins its elements j, j + lanes, ...
struct JoinLane {
  const GradItem* items;
  const internal::TensorPiece* pieces;
  double p;
  double* partial;  // (pieces, lanes)
  OSPREY_HD void operator()(int64_t row, int64_t c_begin, int64_t c_end) const {
    const internal::TensorPiece& piece = pieces[row];
    const float* grad = items[piece.item].grad;
    for (int64_t lane = c_begin; lane < c_end; ++lane) {
      double total = 0;
      for (int64_t i = piece.begin + lane; i < piece.end; i += kLanes) {
        total = join_norms(total, norm_term(grad[i], p), p);
      }
      partial[row * kLanes + lane] = total;
    }
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

// A few launches for all gradients together; the host waits for none.
void grad_norm_cuda(const Tensors& grads, double p, Tensor& total) {
  const Device device = grads.front().device();
  std::vector<GradItem> items;
  for (const Tensor& grad : grads) items.push_back({grad.data<float>(), grad.numel()});
  const MultiTensor<GradItem> all(items, device);
  int64_t chunks = all.num_pieces() * kLanes;
  Tensor partial({chunks}, DType::kF64, device);
  parallel_rows_cuda(device, all.num_pieces(), kLanes,
                     JoinLane{all.items(), all.pieces(), p, partial.mutable_data<double>()});
  while (chunks > 1) {
    const int64_t folded = (chunks + 63) / 64;
    Tensor joined = folded == 1 ? total : Tensor({folded}, DType::kF64, device);
    parallel_for_cuda(device, folded,
                      JoinChunks{partial.data<double>(), chunks, folded, p, joined.mutable_data<double>()});
    partial = joined;
    chunks = folded;
  }
}

OSPREY_REGISTER_KERNEL(grad_norm_kernel, DeviceType::kCUDA, grad_norm_cuda);

}  // namespace
}  // namespace osprey
