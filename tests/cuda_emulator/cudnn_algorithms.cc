#include "tests/cuda_emulator/cudnn_algorithms.h"

namespace osprey::emulator {
namespace {

size_t shape_bytes(const ConvolutionShape& s) {
  return 4096 + 4 * static_cast<size_t>(s.oh) * s.ow + 16 * static_cast<size_t>(s.kh) * s.kw * s.ci;
}

}  // namespace

Refusals& refusals() {
  static Refusals refusals;
  return refusals;
}

AlgorithmTraits traits(cudnnConvolutionFwdAlgo_t algorithm, const ConvolutionShape& s) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      return {true, true, 0};
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      return {true, true, shape_bytes(s)};
    default:
      return {false, true, size_t{1} << 42};
  }
}

AlgorithmTraits traits(cudnnConvolutionBwdDataAlgo_t algorithm, const ConvolutionShape& s) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_0:
      return {true, false, 0};
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_1:
      return {true, true, shape_bytes(s)};
    default:
      return {false, true, size_t{1} << 42};
  }
}

AlgorithmTraits traits(cudnnConvolutionBwdFilterAlgo_t algorithm, const ConvolutionShape& s) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0:
      return {true, false, 0};
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1:
      return {true, true, shape_bytes(s)};
    default:
      return {false, true, size_t{1} << 42};
  }
}

}  // namespace osprey::emulator
