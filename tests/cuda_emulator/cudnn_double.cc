#include <cudnn.h>

#include <cstring>
#include <string>
#include <type_traits>

#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/convolution.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/handles.h"
#include "tests/cuda_emulator/streams.h"

// The calls of cuDNN that Osprey makes: convolution through the per-layer API. What the documentation demands
// of descriptors, types, layouts, algorithms and workspaces is checked, with the reason in
// cudnnGetLastErrorString().
namespace osprey::emulator {
namespace {

struct Dnn {
  int device;
  cudaStream_t stream = nullptr;
};
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

thread_local std::string last_reason;

template <typename... Args>
cudnnStatus_t refuse(cudnnStatus_t status, const Args&... reason) {
  last_reason = str_cat(reason...);
  return status;
}

template <typename T, typename Handle>
cudnnStatus_t create(Handle* handle) {
  const std::lock_guard lock(driver_mutex());
  *handle = reinterpret_cast<Handle>(objects<T>().make({}));
  return CUDNN_STATUS_SUCCESS;
}

template <typename T>
cudnnStatus_t destroy(const void* handle, const char* what) {
  const std::lock_guard lock(driver_mutex());
  if (objects<T>().destroy(handle)) return CUDNN_STATUS_SUCCESS;
  return refuse(CUDNN_STATUS_BAD_PARAM, what, " ", handle, " is destroyed twice or was never made");
}

bool number_of(cudnnDataType_t type, Number& number) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      number = Number::kF32;
      return true;
    case CUDNN_DATA_HALF:
      number = Number::kF16;
      return true;
    case CUDNN_DATA_BFLOAT16:
      number = Number::kBF16;
      return true;
    default:
      return false;
  }
}

int out_extent(int in, int kernel, int stride, int pad, int dilation) {
  return (in + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}

// The descriptors of one call, checked against each other.
struct Problem {
  ConvolutionShape shape;
  Number number;
  bool tf32;
};

cudnnStatus_t read_problem(const void* x_handle, const void* w_handle, const void* conv_handle,
                           const void* y_handle, Problem& problem) {
  const TensorDescriptor* x = objects<TensorDescriptor>().find(x_handle);
  const TensorDescriptor* y = objects<TensorDescriptor>().find(y_handle);
  const FilterDescriptor* w = objects<FilterDescriptor>().find(w_handle);
  const ConvolutionDescriptor* conv = objects<ConvolutionDescriptor>().find(conv_handle);
  if (!x || !y || !w || !conv || !x->set || !y->set || !w->set || !conv->set) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "a descriptor was destroyed, never made or never set");
  }
  if (x->type != y->type || x->type != w->type) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "data types differ: x ", x->type, ", w ", w->type, ", y ", y->type);
  }
  if (!number_of(x->type, problem.number)) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "data type ", x->type);
  if (conv->compute != CUDNN_DATA_FLOAT) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "sums must be in f32, the descriptor says ", conv->compute);
  }
  if (x->format != CUDNN_TENSOR_NHWC || y->format != CUDNN_TENSOR_NHWC || w->format != CUDNN_TENSOR_NHWC) {
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "layouts differ from NHWC: x ", x->format, ", w ", w->format,
                  ", y ", y->format);
  }
  if (conv->groups <= 0 || x->c != w->c * conv->groups || w->k % conv->groups != 0) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "channels: x ", x->c, ", w ", w->c, " for each of ", conv->groups,
                  " groups, y ", w->k);
  }
  const int h = out_extent(x->h, w->h, conv->stride_h, conv->pad_h, conv->dilation_h);
  const int width = out_extent(x->w, w->w, conv->stride_w, conv->pad_w, conv->dilation_w);
  if (y->n != x->n || y->c != w->k || y->h != h || y->w != width) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "y is (", y->n, ", ", y->h, ", ", y->w, ", ", y->c, "), must be (",
                  x->n, ", ", h, ", ", width, ", ", w->k, ")");
  }
  problem.shape = {x->n,
                   x->h,
                   x->w,
                   x->c,
                   y->h,
                   y->w,
                   y->c,
                   w->h,
                   w->w,
                   conv->pad_h,
                   conv->pad_w,
                   conv->stride_h,
                   conv->stride_w,
                   conv->dilation_h,
                   conv->dilation_w,
                   conv->groups};
  problem.tf32 = problem.number == Number::kF32 && conv->math != CUDNN_FMA_MATH;
  return CUDNN_STATUS_SUCCESS;
}

// What an algorithm needs beside its operands, and whether it knows NHWC at all. Sizes depend on the shape,
// so that a size that was asked for another shape, or guessed, is too small or noticed.
struct AlgorithmTraits {
  bool supported, deterministic;
  size_t workspace;
};

size_t shape_bytes(const ConvolutionShape& s) {
  return 4096 + 4 * static_cast<size_t>(s.oh) * s.ow + 16 * static_cast<size_t>(s.kh) * s.kw * s.ci;
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
    default:
      return "a status the double does not name";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  LOCK;
  *handle = reinterpret_cast<cudnnHandle_t>(objects<Dnn>().make({current_device()}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy<Dnn>(handle, "handle"); }

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  LOCK;
  Dnn* dnn = objects<Dnn>().find(handle);
  if (dnn == nullptr) return refuse(CUDNN_STATUS_NOT_INITIALIZED, "the handle was destroyed or never made");
  (void)stream_of(stream, "cudnnSetStream");
  dnn->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

// --- Descriptors ---

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* d) { return create<TensorDescriptor>(d); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) {
  return destroy<TensorDescriptor>(d, "tensor descriptor");
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* d) { return create<FilterDescriptor>(d); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) {
  return destroy<FilterDescriptor>(d, "filter descriptor");
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* d) {
  return create<ConvolutionDescriptor>(d);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) {
  return destroy<ConvolutionDescriptor>(d, "convolution descriptor");
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t handle, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  LOCK;
  TensorDescriptor* d = objects<TensorDescriptor>().find(handle);
  if (d == nullptr || n <= 0 || c <= 0 || h <= 0 || w <= 0) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "tensor descriptor of (", n, ", ", h, ", ", w, ", ", c, ")");
  }
  *d = {true, format, type, n, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t handle, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  LOCK;
  FilterDescriptor* d = objects<FilterDescriptor>().find(handle);
  if (d == nullptr || k <= 0 || c <= 0 || h <= 0 || w <= 0) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "filter descriptor of (", k, ", ", h, ", ", w, ", ", c, ")");
  }
  *d = {true, format, type, k, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t handle, int pad_h, int pad_w,
                                              int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  LOCK;
  ConvolutionDescriptor* d = objects<ConvolutionDescriptor>().find(handle);
  if (d == nullptr || pad_h < 0 || pad_w < 0 || u <= 0 || v <= 0 || dilation_h <= 0 || dilation_w <= 0) {
    return refuse(CUDNN_STATUS_BAD_PARAM, "convolution descriptor");
  }
  if (mode != CUDNN_CROSS_CORRELATION)
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "the double does not flip kernels");
  *d = {true, pad_h, pad_w, u, v, dilation_h, dilation_w, 1, compute, CUDNN_DEFAULT_MATH};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t handle, int groups) {
  LOCK;
  ConvolutionDescriptor* d = objects<ConvolutionDescriptor>().find(handle);
  if (d == nullptr || groups <= 0) return refuse(CUDNN_STATUS_BAD_PARAM, groups, " groups");
  d->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t handle, cudnnMathType_t math) {
  LOCK;
  ConvolutionDescriptor* d = objects<ConvolutionDescriptor>().find(handle);
  if (d == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM, "convolution descriptor");
  d->math = math;
  return CUDNN_STATUS_SUCCESS;
}

// --- Convolution ---

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
