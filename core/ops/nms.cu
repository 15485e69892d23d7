#include "core/backend/cuda/launch.cuh"
#include "core/ops/nms_kernel.h"
#include "core/ops/row_order.h"

namespace osprey {
namespace {

#ifdef __CUDACC__

constexpr int kSweepThreads = 512;

// One block, a word of boxes at a time: a thread decides who stays, then all spread the bits of the kept ones
// over the words to come.
__global__ void sweep_kernel(Sweep sweep) {
  __shared__ uint64_t suppressed[kMaxDeviceNmsBoxes / kNmsWord];
  __shared__ uint64_t diagonal[kNmsWord];
  __shared__ uint64_t kept_of_word;
  __shared__ int64_t kept;
  for (int64_t w = threadIdx.x; w < sweep.words; w += blockDim.x) suppressed[w] = sweep.absent(w);
  if (threadIdx.x == 0) kept = 0;
  __syncthreads();
  for (int64_t word = 0; word < sweep.words && !sweep.full(kept); ++word) {
    const int64_t first = word * kNmsWord;
    if (threadIdx.x < kNmsWord) diagonal[threadIdx.x] = sweep.bits_at(first + threadIdx.x, word);
    __syncthreads();
    if (threadIdx.x == 0) {
      int64_t so_far = kept;
      kept_of_word = sweep.keep_within(word, suppressed[word], diagonal, so_far);
      kept = so_far;
    }
    __syncthreads();
    for (int64_t w = word + 1 + threadIdx.x; w < sweep.words; w += blockDim.x) {
      uint64_t bits = 0;
      for (uint64_t rest = kept_of_word; rest != 0; rest &= rest - 1) {
        bits |= sweep.bits_at(first + __ffsll(static_cast<long long>(rest)) - 1, w);
      }
      suppressed[w] |= bits;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *sweep.count = kept;
}

void launch_sweep(Device device, const Sweep& sweep) {
  sweep_kernel<<<1, kSweepThreads, 0, current_stream(device)>>>(sweep);
  OSPREY_CUDA(cudaGetLastError());
}

#else

struct SweepOnHost {
  Sweep sweep;
  void operator()(int64_t) const {
    uint64_t suppressed[kMaxDeviceNmsBoxes / kNmsWord], diagonal[kNmsWord];
    for (int64_t w = 0; w < sweep.words; ++w) suppressed[w] = sweep.absent(w);
    int64_t kept = 0;
    for (int64_t word = 0; word < sweep.words; ++word) {
      const int64_t first = word * kNmsWord;
      for (int64_t j = 0; j < kNmsWord; ++j) diagonal[j] = sweep.bits_at(first + j, word);
      const uint64_t kept_of_word = sweep.keep_within(word, suppressed[word], diagonal, kept);
      for (int64_t j = 0; j < kNmsWord; ++j) {
        if ((kept_of_word >> j & 1) == 0) continue;
        for (int64_t w = word + 1; w < sweep.words; ++w) suppressed[w] |= sweep.bits_at(first + j, w);
      }
    }
    *sweep.count = kept;
  }
};

void launch_sweep(Device device, const Sweep& sweep) { parallel_for_cuda(device, 1, SweepOnHost{sweep}); }

#endif

// f32 (1).
Tensor largest_of(const Tensor& values) {
  const int64_t chunks = std::min<int64_t>(values.numel(), 256);
  Tensor best({chunks + 1}, DType::kF32, values.device());
  float* partial = best.mutable_data<float>();
  parallel_for_cuda(values.device(), chunks, MaxChunk{values.data<float>(), values.numel(), chunks, partial});
  parallel_for_cuda(values.device(), 1, MaxChunk{partial, chunks, 1, partial + chunks});
  return best.slice(chunks, chunks + 1);
}

void nms_cuda(const NmsArgs& args, PendingNms& out) {
  const Device device = args.boxes.device();
  const int64_t n = args.scores.numel(), words = (n + kNmsWord - 1) / kNmsWord;
  const Tensor order = rows_by_score(args.scores);
  const Tensor largest = args.shift_classes ? largest_of(args.boxes) : Tensor();
  Tensor ranked({n, 5}, DType::kF32, device), classes({n}, DType::kI64, device),
      out_of_play({n}, DType::kU8, device);
  const float *boxes = args.boxes.data<float>(), *scores = args.scores.data<float>();
  parallel_for_cuda(device, n,
                    RankBox{boxes, scores, args.idxs.data<int64_t>(), order.data<int64_t>(),
                            largest.defined() ? largest.data<float>() : nullptr, args.offset,
                            args.score_threshold, ranked.mutable_data<float>(),
                            classes.mutable_data<int64_t>(), out_of_play.mutable_data<uint8_t>()});
  Tensor pairs;
  uint64_t* bits = nullptr;
  if (args.suppress) {
    pairs = Tensor({n, words}, DType::kI64, device);
    bits = reinterpret_cast<uint64_t*>(pairs.mutable_data<int64_t>());
    parallel_for_cuda(device, n * words,
                      SuppressionWord{{ranked.data<float>(), classes.data<int64_t>(), n},
                                      words,
                                      args.iou_threshold,
                                      args.offset,
                                      args.within_classes,
                                      bits});
  }
  int64_t *keep = out.keep.mutable_data<int64_t>(), *count = out.count.mutable_data<int64_t>();
  launch_sweep(device, {bits, out_of_play.data<uint8_t>(), order.data<int64_t>(), n, words, args.max_num,
                        keep, count});
  parallel_for_cuda(device, n, WriteDets{boxes, scores, count, keep, out.dets.mutable_data<float>()});
}

OSPREY_REGISTER_KERNEL(nms_kernel, DeviceType::kCUDA, nms_cuda);

}  // namespace
}  // namespace osprey
