#include <cudnn.h>

#include <cstring>

#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/cudnn_algorithms.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/streams.h"

// The calls of cuDNN that Osprey makes: convolution through the per-layer API. What the documentation demands
// of descriptors, types, layouts, algorithms and workspaces is checked, with the reason in
// cudnnGetLastErrorString(). Descriptors are made in cudnn_descriptors.cc.
namespace osprey::emulator {
namespace {

struct Dnn {
  int device;
  cudaStream_t stream = nullptr;
};

Stream* stream_of_handle(cudnnHandle_t handle, const char* call) {
  const Dnn* dnn = objects<Dnn>().find(handle);
  if (dnn == nullptr) return nullptr;
  if (dnn->stream == nullptr) fail(str_cat(call, ": the handle was given no stream"));
  if (dnn->device != current_device()) {
    fail(str_cat(call, ": a handle of device ", dnn->device, " while device ", current_device(),
                 " is the thread's current one"));
  }
  return &stream_of(dnn->stream, call);
}

struct Call {
  const char* name;
  cudnnHandle_t handle;
  const void *alpha, *beta;
  void* workspace;
  size_t workspace_bytes;
};

const std::map<int, cudnnStatus_t>& refused_algorithms(ConvolutionPass pass) {
  if (pass == ConvolutionPass::kForward) return refusals().forward;
  return pass == ConvolutionPass::kBackwardData ? refusals().backward_data : refusals().backward_weight;
}

// Common to the three passes: everything but which array is the result.
template <typename Algorithm>
cudnnStatus_t run_pass(const Call& call, const Problem& problem, Algorithm algorithm, ConvolutionPass pass,
                       const ConvolutionArrays& arrays) {
  Stream* stream = stream_of_handle(call.handle, call.name);
  if (stream == nullptr)
    return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the handle was destroyed or never made");
  const AlgorithmTraits t = traits(algorithm, problem.shape);
  if (!t.supported) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "algorithm ", static_cast<int>(algorithm),
                  " does not know NHWC");
  }
  const auto& refused = refused_algorithms(pass);
  if (const auto found = refused.find(static_cast<int>(algorithm)); found != refused.end()) {
    ++refusals().count;
    return refuse(found->second, "the test refuses it");
  }
  if (machine().broken != cudaSuccess) {
    return refuse(CUDNN_STATUS_EXECUTION_FAILED_CUDART, cudaGetErrorName(machine().broken));
  }
  if (call.workspace_bytes < t.workspace) {
    return refuse(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "workspace of ", call.workspace_bytes,
                  " bytes, the algorithm needs ", t.workspace);
  }
  if (call.alpha == nullptr || call.beta == nullptr)
    return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "alpha or beta");
  if (Arena::get().contains(call.alpha) || Arena::get().contains(call.beta)) {
    fail(str_cat(call.name, ": alpha and beta must be host pointers"));
  }
  const size_t size = bytes_of(problem.number);
  require_device_memory(arrays.x, problem.shape.x_count() * size, *stream, call.name, "x");
  require_device_memory(arrays.weight, problem.shape.weight_count() * size, *stream, call.name, "w");
  require_device_memory(arrays.y, problem.shape.y_count() * size, *stream, call.name, "y");
  if (t.workspace > 0) require_device_memory(call.workspace, t.workspace, *stream, call.name, "workSpace");
  ++counts().launches;
  const float alpha = *static_cast<const float*>(call.alpha), beta = *static_cast<const float*>(call.beta);
  enqueue(*stream, call.name, [=, workspace = call.workspace, used = t.workspace] {
    if (used > 0) std::memset(workspace, 0xFF, used);  // whoever shares it sees it
    convolve(pass, problem.shape, problem.number, problem.tf32, arrays, alpha, beta);
  });
  return CUDNN_STATUS_SUCCESS;
}

// Measuring runs the algorithms: the result is written, and the host waits.
template <typename Performance>
cudnnStatus_t measure(const Call& call, const Problem& problem, ConvolutionPass pass,
                      const ConvolutionArrays& arrays, int requested, int* returned, Performance* results) {
  Stream* stream = stream_of_handle(call.handle, call.name);
  if (stream == nullptr)
    return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the handle was destroyed or never made");
  list_algorithms(problem, requested, returned, results);
  for (int i = 0; i < *returned; ++i) {
    if (results[i].memory > call.workspace_bytes)
      results[i].status = CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
  }
  require_device_memory(call.workspace, call.workspace_bytes, *stream, call.name, "workSpace");
  const float one = 1, zero = 0;
  Call trial = call;
  trial.alpha = &one;
  trial.beta = &zero;
  const cudnnStatus_t status = run_pass(trial, problem, results[*returned - 1].algo, pass, arrays);
  ++counts().waits;
  drain(*stream);
  return status;
}

}  // namespace
}  // namespace osprey::emulator

using namespace osprey::emulator;

#define LOCK const std::lock_guard lock(driver_mutex())
#define RETURN_IF_BAD(expression)                        \
  do {                                                   \
    const cudnnStatus_t status_ = (expression);          \
    if (status_ != CUDNN_STATUS_SUCCESS) return status_; \
  } while (0)

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (max_size == 0) return;
  std::strncpy(message, last_reason.c_str(), max_size - 1);
  message[max_size - 1] = 0;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT:
      return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDART:
      return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    default:
      return "a status the double does not name";
  }
}

size_t cudnnGetVersion() { return CUDNN_VERSION; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  LOCK;
  *handle = reinterpret_cast<cudnnHandle_t>(objects<Dnn>().make({current_device()}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  LOCK;
  if (objects<Dnn>().destroy(handle)) return CUDNN_STATUS_SUCCESS;
  return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the handle was destroyed or never made");
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  LOCK;
  Dnn* dnn = objects<Dnn>().find(handle);
  if (dnn == nullptr) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the handle was destroyed or never made");
  (void)stream_of(stream, "cudnnSetStream");
  dnn->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t w,
                                                     const cudnnConvolutionDescriptor_t conv,
                                                     const cudnnTensorDescriptor_t y, const int requested,
                                                     int* returned, cudnnConvolutionFwdAlgoPerf_t* results) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(x, w, conv, y, problem));
  return list_algorithms(problem, requested, returned, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t w,
                                                          const cudnnTensorDescriptor_t dy,
                                                          const cudnnConvolutionDescriptor_t conv,
                                                          const cudnnTensorDescriptor_t dx,
                                                          const int requested, int* returned,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(dx, w, conv, dy, problem));
  return list_algorithms(problem, requested, returned, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t x,
                                                            const cudnnTensorDescriptor_t dy,
                                                            const cudnnConvolutionDescriptor_t conv,
                                                            const cudnnFilterDescriptor_t dw,
                                                            const int requested, int* returned,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(x, dw, conv, dy, problem));
  return list_algorithms(problem, requested, returned, results);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnFilterDescriptor_t w_desc, const void* w, const cudnnConvolutionDescriptor_t conv,
    const cudnnTensorDescriptor_t y_desc, void* y, const int requested, int* returned,
    cudnnConvolutionFwdAlgoPerf_t* results, void* workspace, size_t workspace_bytes) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(x_desc, w_desc, conv, y_desc, problem));
  return measure(
      {"cudnnFindConvolutionForwardAlgorithmEx", handle, nullptr, nullptr, workspace, workspace_bytes},
      problem, ConvolutionPass::kForward, {x, w, y}, requested, returned, results);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w_desc, const void* w,
    const cudnnTensorDescriptor_t dy_desc, const void* dy, const cudnnConvolutionDescriptor_t conv,
    const cudnnTensorDescriptor_t dx_desc, void* dx, const int requested, int* returned,
    cudnnConvolutionBwdDataAlgoPerf_t* results, void* workspace, size_t workspace_bytes) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(dx_desc, w_desc, conv, dy_desc, problem));
  return measure(
      {"cudnnFindConvolutionBackwardDataAlgorithmEx", handle, nullptr, nullptr, workspace, workspace_bytes},
      problem, ConvolutionPass::kBackwardData, {dx, w, dy}, requested, returned, results);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnTensorDescriptor_t dy_desc, const void* dy, const cudnnConvolutionDescriptor_t conv,
    const cudnnFilterDescriptor_t dw_desc, void* dw, const int requested, int* returned,
    cudnnConvolutionBwdFilterAlgoPerf_t* results, void* workspace, size_t workspace_bytes) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(x_desc, dw_desc, conv, dy_desc, problem));
  return measure(
      {"cudnnFindConvolutionBackwardFilterAlgorithmEx", handle, nullptr, nullptr, workspace, workspace_bytes},
      problem, ConvolutionPass::kBackwardWeight, {x, dw, dy}, requested, returned, results);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_desc, const void* x,
                                      const cudnnFilterDescriptor_t w_desc, const void* w,
                                      const cudnnConvolutionDescriptor_t conv,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t workspace_bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_desc, void* y) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(x_desc, w_desc, conv, y_desc, problem));
  return run_pass({"cudnnConvolutionForward", handle, alpha, beta, workspace, workspace_bytes}, problem,
                  algorithm, ConvolutionPass::kForward, {x, w, y});
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t w_desc, const void* w,
                                           const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const cudnnConvolutionDescriptor_t conv,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t workspace_bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_desc, void* dx) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(dx_desc, w_desc, conv, dy_desc, problem));
  return run_pass({"cudnnConvolutionBackwardData", handle, alpha, beta, workspace, workspace_bytes}, problem,
                  algorithm, ConvolutionPass::kBackwardData, {dx, w, dy});
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t x_desc, const void* x,
                                             const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                             const cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             size_t workspace_bytes, const void* beta,
                                             const cudnnFilterDescriptor_t dw_desc, void* dw) {
  LOCK;
  Problem problem;
  RETURN_IF_BAD(read_problem(x_desc, dw_desc, conv, dy_desc, problem));
  return run_pass({"cudnnConvolutionBackwardFilter", handle, alpha, beta, workspace, workspace_bytes},
                  problem, algorithm, ConvolutionPass::kBackwardWeight, {x, dw, dy});
}
