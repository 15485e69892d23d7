#include <algorithm>
#include <array>
#include <limits>

#include "core/backend/cpu/lru_cache.h"
#include "core/backend/cuda/add_bias.h"
#include "core/backend/cuda/cudnn.h"
#include "core/backend/cuda/memory.h"
#include "core/backend/dense_math.h"
#include "core/ops/conv2d_kernel.h"

// Convolution on CUDA: cuDNN's per-layer calls on NHWC maps and OHWI weights.
namespace osprey {
namespace {

struct Descriptors {
  CudnnTensor x, y;
  CudnnFilter weight;
  CudnnConvolution convolution;
};

// The three arrays of a convolution; which of them is written depends on the pass.
struct Operands {
  void *x, *weight, *y;
};

void set_tensor(const CudnnTensor& tensor, DType dtype, int64_t n, int64_t h, int64_t w, int64_t c) {
  OSPREY_REQUIRE(n * h * w * c <= std::numeric_limits<int>::max(), "a map of (", n, ", ", h, ", ", w, ", ", c,
                 ") has more elements than cuDNN can index");
  OSPREY_CUDNN(cudnnSetTensor4dDescriptor(tensor.get(), CUDNN_TENSOR_NHWC, cudnn_type_of(dtype),
                                          static_cast<int>(n), static_cast<int>(c), static_cast<int>(h),
                                          static_cast<int>(w)));
}

// Halves run on tensor cores and accumulate in f32. f32 stays f32: the default math would cut it to TF32.
cudnnMathType_t math_type(DType dtype) {
  if (is_half(dtype)) return CUDNN_TENSOR_OP_MATH;
  return dense_math_policy().allow_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

Descriptors describe_convolution(const Conv2dShape& s, DType dtype) {
  Descriptors d;
  const Conv2dParams& p = s.params;
  const auto as_int = [](int64_t value) { return static_cast<int>(value); };
  set_tensor(d.x, dtype, s.n, s.h, s.w, s.ci);
  set_tensor(d.y, dtype, s.n, s.oh, s.ow, s.co);
  OSPREY_CUDNN(cudnnSetFilter4dDescriptor(d.weight.get(), cudnn_type_of(dtype), CUDNN_TENSOR_NHWC,
                                          as_int(s.co), as_int(s.ci / p.groups), as_int(s.kh), as_int(s.kw)));
  OSPREY_CUDNN(cudnnSetConvolution2dDescriptor(
      d.convolution.get(), as_int(p.pad_h), as_int(p.pad_w), as_int(p.stride_h), as_int(p.stride_w),
      as_int(p.dilation_h), as_int(p.dilation_w), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  OSPREY_CUDNN(cudnnSetConvolutionGroupCount(d.convolution.get(), as_int(p.groups)));
  OSPREY_CUDNN(cudnnSetConvolutionMathType(d.convolution.get(), math_type(dtype)));
  return d;
}

// The three passes: the same steps under three names each.
struct Forward {
  static constexpr const char* kName = "conv2d";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  using Performance = cudnnConvolutionFwdAlgoPerf_t;

  static void guess(cudnnHandle_t handle, const Descriptors& d, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnGetConvolutionForwardAlgorithm_v7(
        handle, d.x.get(), d.weight.get(), d.convolution.get(), d.y.get(), kAlgorithms, count, found));
  }
  static void measure(cudnnHandle_t handle, const Descriptors& d, const Operands& o,
                      const CudaWorkspace& space, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnFindConvolutionForwardAlgorithmEx(handle, d.x.get(), o.x, d.weight.get(), o.weight,
                                                        d.convolution.get(), d.y.get(), o.y, kAlgorithms,
                                                        count, found, space.data(), space.bytes()));
  }
  static void run(cudnnHandle_t handle, const Descriptors& d, const Performance& chosen, const Operands& o,
                  const CudaWorkspace& space) {
    const float one = 1, zero = 0;
    OSPREY_CUDNN(cudnnConvolutionForward(handle, &one, d.x.get(), o.x, d.weight.get(), o.weight,
                                         d.convolution.get(), chosen.algo, space.data(), space.bytes(), &zero,
                                         d.y.get(), o.y));
  }
};

struct BackwardData {
  static constexpr const char* kName = "gradient by x of conv2d";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  using Performance = cudnnConvolutionBwdDataAlgoPerf_t;

  static void guess(cudnnHandle_t handle, const Descriptors& d, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnGetConvolutionBackwardDataAlgorithm_v7(
        handle, d.weight.get(), d.y.get(), d.convolution.get(), d.x.get(), kAlgorithms, count, found));
  }
  static void measure(cudnnHandle_t handle, const Descriptors& d, const Operands& o,
                      const CudaWorkspace& space, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnFindConvolutionBackwardDataAlgorithmEx(handle, d.weight.get(), o.weight, d.y.get(), o.y,
                                                             d.convolution.get(), d.x.get(), o.x, kAlgorithms,
                                                             count, found, space.data(), space.bytes()));
  }
  static void run(cudnnHandle_t handle, const Descriptors& d, const Performance& chosen, const Operands& o,
                  const CudaWorkspace& space) {
    const float one = 1, zero = 0;
    OSPREY_CUDNN(cudnnConvolutionBackwardData(handle, &one, d.weight.get(), o.weight, d.y.get(), o.y,
                                              d.convolution.get(), chosen.algo, space.data(), space.bytes(),
                                              &zero, d.x.get(), o.x));
  }
};

struct BackwardWeight {
  static constexpr const char* kName = "gradient by weight of conv2d";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  using Performance = cudnnConvolutionBwdFilterAlgoPerf_t;

  static void guess(cudnnHandle_t handle, const Descriptors& d, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        handle, d.x.get(), d.y.get(), d.convolution.get(), d.weight.get(), kAlgorithms, count, found));
  }
  static void measure(cudnnHandle_t handle, const Descriptors& d, const Operands& o,
                      const CudaWorkspace& space, int* count, Performance* found) {
    OSPREY_CUDNN(cudnnFindConvolutionBackwardFilterAlgorithmEx(
        handle, d.x.get(), o.x, d.y.get(), o.y, d.convolution.get(), d.weight.get(), o.weight, kAlgorithms,
        count, found, space.data(), space.bytes()));
  }
  static void run(cudnnHandle_t handle, const Descriptors& d, const Performance& chosen, const Operands& o,
                  const CudaWorkspace& space) {
    const float one = 1, zero = 0;
    OSPREY_CUDNN(cudnnConvolutionBackwardFilter(handle, &one, d.x.get(), o.x, d.y.get(), o.y,
                                                d.convolution.get(), chosen.algo, space.data(), space.bytes(),
                                                &zero, d.weight.get(), o.weight));
  }
};

template <typename Pass>
struct Plan {
  Descriptors descriptors;
  typename Pass::Performance chosen;
};

// The library lists algorithms by (expected or measured) time: the first that obeys the policy.
template <typename Pass>
Plan<Pass> make_plan(const Conv2dShape& s, DType dtype, Device device, const Operands& o) {
  const DenseMathPolicy& policy = dense_math_policy();
  const cudnnHandle_t handle = cudnn_handle(device);
  Descriptors d = describe_convolution(s, dtype);
  std::array<typename Pass::Performance, Pass::kAlgorithms> found{};
  int count = 0;
  if (policy.benchmark) {
    const CudaWorkspace space(static_cast<size_t>(policy.workspace_limit), device);
    Pass::measure(handle, d, o, space, &count, found.data());
  } else {
    Pass::guess(handle, d, &count, found.data());
  }
  const auto chosen = std::find_if(found.begin(), found.begin() + count, [&](const auto& algorithm) {
    return algorithm.status == CUDNN_STATUS_SUCCESS &&
           static_cast<int64_t>(algorithm.memory) <= policy.workspace_limit &&
           (!policy.deterministic || algorithm.determinism == CUDNN_DETERMINISTIC);
  });
  OSPREY_REQUIRE(chosen != found.begin() + count, "cuDNN has no algorithm within a workspace of ",
                 policy.workspace_limit, " bytes", policy.deterministic ? " that is deterministic" : "");
  // What was timed with one kind of arithmetic must run with it. f32 keeps its own.
  if (is_half(dtype)) {
    OSPREY_CUDNN(cudnnSetConvolutionMathType(d.convolution.get(), chosen->mathType));
  }
  return {std::move(d), *chosen};
}

template <typename Pass>
std::shared_ptr<const Plan<Pass>> plan_of(const Conv2dShape& s, DType dtype, Device device,
                                          const Operands& o) {
  static LruCache<Plan<Pass>> plans(1024);  // RoI heads bring new shapes all the time
  const DenseMathPolicy& policy = dense_math_policy();
  const int64_t mode = policy.allow_tf32 | policy.deterministic << 1 | policy.benchmark << 2;
  return plans.get(s.key({static_cast<int64_t>(dtype), device.index, mode, policy.workspace_limit}),
                   [&] { return make_plan<Pass>(s, dtype, device, o); });
}

template <typename Pass>
void run(const Conv2dShape& s, const Tensor& like, const Operands& o) {
  try {
    const auto plan = plan_of<Pass>(s, like.dtype(), like.device(), o);
    const CudaWorkspace space(plan->chosen.memory, like.device());
    Pass::run(cudnn_handle(like.device()), plan->descriptors, plan->chosen, o, space);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(str_cat("workspace for ", Pass::kName, " of ", s.describe(), ": ", error.what()));
  } catch (const Error& error) {
    throw Error(str_cat(Pass::kName, " of ", s.describe(), " ", like.dtype(), ": ", error.what()));
  }
}

// An input among the operands: passes do not write to it, whatever Operands could.
void* input(const Tensor& tensor) { return const_cast<void*>(tensor.raw()); }

void forward_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                  Tensor& y) {
  const Conv2dShape shape = Conv2dShape::of(x.shape(), weight.shape(), y.shape(), params);
  run<Forward>(shape, y, {input(x), input(weight), y.mutable_raw()});
  if (bias.defined()) add_bias_cuda(bias, y);
}

void backward_data_cuda(const Tensor& grad_y, const Tensor& weight, const Tensor& bias,
                        const Conv2dParams& params, Tensor& grad_x) {
  const Conv2dShape shape = Conv2dShape::of(grad_x.shape(), weight.shape(), grad_y.shape(), params);
  run<BackwardData>(shape, grad_x, {grad_x.mutable_raw(), input(weight), input(grad_y)});
  if (bias.defined()) add_bias_cuda(bias, grad_x);
}

void backward_cuda(const Tensor& x, const Tensor& weight, const Tensor& grad_y, const Conv2dParams& params,
                   Tensor* grad_x, Tensor* grad_weight) {
  if (grad_x) backward_data_cuda(grad_y, weight, Tensor(), params, *grad_x);
  if (grad_weight) {
    const Conv2dShape shape = Conv2dShape::of(x.shape(), grad_weight->shape(), grad_y.shape(), params);
    run<BackwardWeight>(shape, *grad_weight, {input(x), grad_weight->mutable_raw(), input(grad_y)});
  }
}

OSPREY_REGISTER_KERNEL(conv2d_forward_kernel, DeviceType::kCUDA, forward_cuda);
OSPREY_REGISTER_KERNEL(conv2d_backward_data_kernel, DeviceType::kCUDA, backward_data_cuda);
OSPREY_REGISTER_KERNEL(conv2d_backward_kernel, DeviceType::kCUDA, backward_cuda);

}  // namespace
}  // namespace osprey
