#include "tests/cuda_emulator/cudnn_descriptors.h"

#include "tests/cuda_emulator/streams.h"

namespace osprey::emulator {

thread_local std::string last_reason;

namespace {

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

}  // namespace

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

}  // namespace osprey::emulator

using namespace osprey::emulator;

#define LOCK const std::lock_guard lock(driver_mutex())

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
