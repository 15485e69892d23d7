#pragma once

#include <iterator>

#include "core/backend/cuda/cudnn.h"
#include "core/backend/cuda/memory.h"

// cuDNN's names for the three passes of a convolution. Only for conv2d_cudnn.cc.
namespace osprey::cudnn {

struct Maps {
  CudnnTensor x, y;
  CudnnFilter weight;
};

// The three arrays of a convolution; which of them is written depends on the pass.
struct Operands {
  void *x, *weight, *y;
};

// The same steps under three names each. run() leaves the verdict on its status to the caller; kNames are
// those of the algorithms, by number.
struct Forward {
  static constexpr const char* kName = "conv2d";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  using Performance = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr const char* kCall = "cudnnConvolutionForward";
  static constexpr const char* kNames[] = {
      "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
      "WINOGRAD",      "WINOGRAD_NONFUSED"};

  static void guess(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c, int* count,
                    Performance* found) {
    OSPREY_CUDNN(cudnnGetConvolutionForwardAlgorithm_v7(handle, m.x.get(), m.weight.get(), c.get(), m.y.get(),
                                                        kAlgorithms, count, found));
  }
  static void measure(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c, const Operands& o,
                      const CudaWorkspace& space, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnFindConvolutionForwardAlgorithmEx(handle, m.x.get(), o.x, m.weight.get(), o.weight,
                                                        c.get(), m.y.get(), o.y, kAlgorithms, count, found,
                                                        space.data(), space.bytes()));
  }
  static cudnnStatus_t run(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c,
                           Algorithm algorithm, const Operands& o, const CudaWorkspace& space) {
    const float one = 1, zero = 0;
    return cudnnConvolutionForward(handle, &one, m.x.get(), o.x, m.weight.get(), o.weight, c.get(), algorithm,
                                   space.data(), space.bytes(), &zero, m.y.get(), o.y);
  }
};

struct BackwardData {
  static constexpr const char* kName = "gradient by x of conv2d";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  using Performance = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr const char* kCall = "cudnnConvolutionBackwardData";
  static constexpr const char* kNames[] = {"ALGO_0",     "ALGO_1",   "FFT",
                                           "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};

  static void guess(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c, int* count,
                    Performance* found) {
    OSPREY_CUDNN(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, m.weight.get(), m.y.get(), c.get(),
                                                             m.x.get(), kAlgorithms, count, found));
  }
  static void measure(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c, const Operands& o,
                      const CudaWorkspace& space, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnFindConvolutionBackwardDataAlgorithmEx(handle, m.weight.get(), o.weight, m.y.get(), o.y,
                                                             c.get(), m.x.get(), o.x, kAlgorithms, count,
                                                             found, space.data(), space.bytes()));
  }
  static cudnnStatus_t run(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c,
                           Algorithm algorithm, const Operands& o, const CudaWorkspace& space) {
    const float one = 1, zero = 0;
    return cudnnConvolutionBackwardData(handle, &one, m.weight.get(), o.weight, m.y.get(), o.y, c.get(),
                                        algorithm, space.data(), space.bytes(), &zero, m.x.get(), o.x);
  }
};

struct BackwardWeight {
  static constexpr const char* kName = "gradient by weight of conv2d";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  using Performance = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr const char* kCall = "cudnnConvolutionBackwardFilter";
  static constexpr const char* kNames[] = {
      "ALGO_0", "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED", "FFT_TILING"};

  static void guess(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c, int* count,
                    Performance* found) {
    OSPREY_CUDNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, m.x.get(), m.y.get(), c.get(),
                                                               m.weight.get(), kAlgorithms, count, found));
  }
  static void measure(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c, const Operands& o,
                      const CudaWorkspace& space, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, m.x.get(), o.x, m.y.get(), o.y,
                                                               c.get(), m.weight.get(), o.weight, kAlgorithms,
                                                               count, found, space.data(), space.bytes()));
  }
  static cudnnStatus_t run(cudnnHandle_t handle, const Maps& m, const CudnnConvolution& c,
                           Algorithm algorithm, const Operands& o, const CudaWorkspace& space) {
    const float one = 1, zero = 0;
    return cudnnConvolutionBackwardFilter(handle, &one, m.x.get(), o.x, m.y.get(), o.y, c.get(), algorithm,
                                          space.data(), space.bytes(), &zero, m.weight.get(), o.weight);
  }
};

static_assert(std::size(Forward::kNames) == Forward::kAlgorithms &&
              std::size(BackwardData::kNames) == BackwardData::kAlgorithms &&
              std::size(BackwardWeight::kNames) == BackwardWeight::kAlgorithms);

}  // namespace osprey::cudnn
