#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <type_traits>

#include "tests/cuda_emulator/cudnn_descriptors.h"

// The algorithms that the double knows for a convolution's three passes.
namespace osprey::emulator {

// What an algorithm needs beside its operands, and whether it knows NHWC at all. Sizes depend on the shape,
// so that a size that was asked for another shape, or guessed, is too small or noticed.
struct AlgorithmTraits {
  bool supported, deterministic;
  size_t workspace;
};

// Statuses with which calls refuse algorithms, by number, that were listed as fit; and how often they did.
struct Refusals {
  std::map<int, cudnnStatus_t> forward, backward_data, backward_weight;
  int64_t count = 0;
};
Refusals& refusals();

AlgorithmTraits traits(cudnnConvolutionFwdAlgo_t algorithm, const ConvolutionShape& shape);
AlgorithmTraits traits(cudnnConvolutionBwdDataAlgo_t algorithm, const ConvolutionShape& shape);
AlgorithmTraits traits(cudnnConvolutionBwdFilterAlgo_t algorithm, const ConvolutionShape& shape);

// The list a caller has to choose from: first one that works but wants more memory than any device has, then
// one that fails, then the non-deterministic one, then the rest. Who takes the head unseen is found out.
template <typename Performance>
cudnnStatus_t list_algorithms(const Problem& problem, int requested, int* returned, Performance* results) {
  using Algorithm = decltype(results->algo);
  constexpr bool kForward = std::is_same_v<Performance, cudnnConvolutionFwdAlgoPerf_t>;
  const int order[] = {5, 3, kForward ? 1 : 0, kForward ? 0 : 1};
  const cudnnStatus_t status[] = {CUDNN_STATUS_SUCCESS, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_SUCCESS,
                                  CUDNN_STATUS_SUCCESS};
  *returned = 0;
  for (int i = 0; i < 4 && i < requested; ++i) {
    Performance& result = results[(*returned)++];
    std::memset(&result, 0, sizeof result);
    result.algo = static_cast<Algorithm>(order[i]);
    const AlgorithmTraits t = traits(result.algo, problem.shape);
    result.status = status[i];
    result.time = static_cast<float>(i + 1);
    result.memory = t.workspace;
    result.determinism = t.deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    result.mathType = problem.number == Number::kF32 && !problem.tf32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace osprey::emulator
