#include "core/backend/cuda/launch.cuh"
#include "core/ops/multiclass_nms_kernel.h"

namespace osprey {
namespace {

struct FlagCandidate {
  const float* scores;
  int64_t classes;
  float score_thr;
  uint8_t* flags;
  OSPREY_HD void operator()(int64_t pair) const {
    const int64_t box = pair / classes;
    flags[pair] = scores[pair + box] > score_thr;  // one score more a row than classes
  }
};

struct GatherCandidate {
  const int64_t* pairs;
  const float *boxes, *scores, *factors;
  int64_t classes;
  bool shared_boxes;
  float *out_boxes, *out_scores;
  int64_t* labels;
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t pair = pairs[i], row = pair / classes;
    const float* box = boxes + (shared_boxes ? row : pair) * 4;
    for (int k = 0; k < 4; ++k) out_boxes[4 * i + k] = box[k];
    out_scores[i] = scores[pair + row] * (factors == nullptr ? 1 : factors[row]);
    labels[i] = pair - row * classes;
  }
};

void flag_candidates_cuda(const Tensor& scores, float score_thr, Tensor& flags) {
  parallel_for_cuda(
      scores.device(), flags.numel(),
      FlagCandidate{scores.data<float>(), scores.dim(1) - 1, score_thr, flags.mutable_data<uint8_t>()});
}

void gather_candidates_cuda(const Tensor& pairs, const Tensor& boxes, const Tensor& scores,
                            const Tensor& factors, MulticlassCandidates& out) {
  parallel_for_cuda(pairs.device(), pairs.numel(),
                    GatherCandidate{pairs.data<int64_t>(), boxes.data<float>(), scores.data<float>(),
                                    factors.defined() ? factors.data<float>() : nullptr, scores.dim(1) - 1,
                                    boxes.dim(1) == 4, out.boxes.mutable_data<float>(),
                                    out.scores.mutable_data<float>(), out.labels.mutable_data<int64_t>()});
}

OSPREY_REGISTER_KERNEL(flag_candidates_kernel, DeviceType::kCUDA, flag_candidates_cuda);
OSPREY_REGISTER_KERNEL(gather_candidates_kernel, DeviceType::kCUDA, gather_candidates_cuda);

}  // namespace
}  // namespace osprey
