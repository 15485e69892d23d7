#pragma once

#include <cudnn.h>

#include <string>

#include "core/base/strings.h"
#include "tests/cuda_emulator/convolution.h"
#include "tests/cuda_emulator/handles.h"

// cuDNN's objects, and what the descriptors of one convolution must agree on.
namespace osprey::emulator {

struct TensorDescriptor {
  bool set = false;
  cudnnTensorFormat_t format{};
  cudnnDataType_t type{};
  int n = 0, c = 0, h = 0, w = 0;
};
struct FilterDescriptor {
  bool set = false;
  cudnnTensorFormat_t format{};
  cudnnDataType_t type{};
  int k = 0, c = 0, h = 0, w = 0;
};
struct ConvolutionDescriptor {
  bool set = false;
  int pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, groups = 1;
  cudnnDataType_t compute{};
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

template <typename T>
Handles<T>& objects() {
  static auto& handles = *new Handles<T>;
  return handles;
}

// Why the last call of this thread was refused, for cudnnGetLastErrorString.
extern thread_local std::string last_reason;

template <typename... Args>
cudnnStatus_t refuse(cudnnStatus_t status, const Args&... reason) {
  last_reason = str_cat(reason...);
  return status;
}

// The descriptors of one call, checked against each other.
struct Problem {
  ConvolutionShape shape;
  Number number;
  bool tf32;
};

// Reads the four descriptors into `problem`; refuses what does not go together.
cudnnStatus_t read_problem(const void* x_handle, const void* w_handle, const void* conv_handle,
                           const void* y_handle, Problem& problem);

}  // namespace osprey::emulator
