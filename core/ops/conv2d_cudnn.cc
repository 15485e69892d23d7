#include <array>
#include <atomic>
#include <limits>
#include <span>

#include "core/backend/cpu/lru_cache.h"
#include "core/backend/cuda/add_bias.h"
#include "core/backend/cuda/cudnn.h"
#include "core/backend/cuda/memory.h"
#include "core/backend/cuda/runtime.h"
#include "core/backend/dense_math.h"
#include "core/base/logging.h"
#include "core/ops/conv2d_cudnn_passes.h"
#include "core/ops/conv2d_kernel.h"

// Convolution on CUDA: cuDNN's per-layer calls on NHWC maps and OHWI weights.
namespace osprey {
namespace {

using namespace cudnn;

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

int as_int(int64_t value) { return static_cast<int>(value); }

Maps describe_maps(const Conv2dShape& s, DType dtype) {
  Maps maps;
  set_tensor(maps.x, dtype, s.n, s.h, s.w, s.ci);
  set_tensor(maps.y, dtype, s.n, s.oh, s.ow, s.co);
  OSPREY_CUDNN(cudnnSetFilter4dDescriptor(maps.weight.get(), cudnn_type_of(dtype), CUDNN_TENSOR_NHWC,
                                          as_int(s.co), as_int(s.ci / s.params.groups), as_int(s.kh),
                                          as_int(s.kw)));
  return maps;
}

CudnnConvolution describe_convolution(const Conv2dParams& p, cudnnMathType_t math) {
  CudnnConvolution convolution;
  OSPREY_CUDNN(cudnnSetConvolution2dDescriptor(
      convolution.get(), as_int(p.pad_h), as_int(p.pad_w), as_int(p.stride_h), as_int(p.stride_w),
      as_int(p.dilation_h), as_int(p.dilation_w), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  OSPREY_CUDNN(cudnnSetConvolutionGroupCount(convolution.get(), as_int(p.groups)));
  OSPREY_CUDNN(cudnnSetConvolutionMathType(convolution.get(), math));
  return convolution;
}

// What was timed with one kind of arithmetic must run with it: each algorithm has a description of its own.
template <typename Pass>
struct Candidate {
  typename Pass::Performance algorithm;
  CudnnConvolution convolution;

  std::string name() const { return Pass::kNames[algorithm.algo]; }
};

template <typename Pass>
struct Plan {
  Maps maps;
  std::vector<Candidate<Pass>> candidates;  // fastest first
  // The one that ran last. Those before it were refused, or their workspace could not be had: they are not
  // tried again as long as it works.
  std::unique_ptr<std::atomic<size_t>> chosen = std::make_unique<std::atomic<size_t>>(0);
};

// Measuring takes all memory that a convolution may use; what is not there, nobody can use.
std::unique_ptr<CudaWorkspace> room_to_measure(Device device) {
  for (int64_t bytes = dense_math_policy().workspace_limit;; bytes /= 2) {
    try {
      return std::make_unique<CudaWorkspace>(static_cast<size_t>(bytes), device);
    } catch (const OutOfMemory&) {
      if (bytes == 0) throw;
    }
  }
}

// The library lists algorithms by (expected or measured) time: those that obey the policy.
template <typename Pass>
Plan<Pass> make_plan(const Conv2dShape& s, DType dtype, Device device, const Operands& o) {
  const DenseMathPolicy& policy = dense_math_policy();
  const cudnnHandle_t handle = cudnn_handle(device);
  Plan<Pass> plan{describe_maps(s, dtype), {}};
  const CudnnConvolution any = describe_convolution(s.params, math_type(dtype));
  std::array<typename Pass::Performance, Pass::kAlgorithms> found{};
  int count = 0;
  if (policy.benchmark) {
    Pass::measure(handle, plan.maps, any, o, *room_to_measure(device), &count, found.data());
  } else {
    Pass::guess(handle, plan.maps, any, &count, found.data());
  }
  for (const auto& algorithm : std::span(found).first(static_cast<size_t>(count))) {
    const bool fits = algorithm.status == CUDNN_STATUS_SUCCESS &&
                      static_cast<int64_t>(algorithm.memory) <= policy.workspace_limit &&
                      (!policy.deterministic || algorithm.determinism == CUDNN_DETERMINISTIC);
    if (!fits) continue;
    const cudnnMathType_t math = is_half(dtype) ? algorithm.mathType : math_type(dtype);
    plan.candidates.push_back({algorithm, describe_convolution(s.params, math)});
  }
  OSPREY_REQUIRE(!plan.candidates.empty(), "cuDNN has no algorithm within a workspace of ",
                 policy.workspace_limit, " bytes", policy.deterministic ? " that is deterministic" : "");
  return plan;
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

// "": the pass is on its way. Otherwise why this algorithm cannot be had, now or at all: heuristics list some
// that the call then refuses.
template <typename Pass>
std::string try_candidate(const Candidate<Pass>& candidate, const Maps& maps, Device device,
                          const Operands& o) {
  const CudaWorkspace space(candidate.algorithm.memory, device);
  const cudnnStatus_t status =
      Pass::run(cudnn_handle(device), maps, candidate.convolution, candidate.algorithm.algo, o, space);
  if (!is_cudnn_refusal(status)) {
    check_cudnn(status, Pass::kCall);
    return "";
  }
  const std::string why = describe_cudnn(status);
  forget_refusal(device, Pass::kCall);
  return why;
}

// From the algorithm that worked last on, all of them, until one does. Without memory for the workspace of
// one, those that want as much are passed over.
template <typename Pass, typename Describe>
void run_plan(const Plan<Pass>& plan, Device device, const Operands& o, const Describe& what) {
  const size_t count = plan.candidates.size(), first = plan.chosen->load();
  std::vector<std::string> failures;
  std::string no_memory;
  size_t too_much = std::numeric_limits<size_t>::max();
  for (size_t turn = 0; turn < count; ++turn) {
    const size_t index = (first + turn) % count;
    const Candidate<Pass>& candidate = plan.candidates[index];
    if (candidate.algorithm.memory >= too_much) continue;
    try {
      const std::string why = try_candidate(candidate, plan.maps, device, o);
      if (why.empty()) {
        plan.chosen->store(index);
        if (turn > 0) {
          log_debug(str_cat(what(), ": ", join(failures, "; "), "; ", candidate.name(), " from now on"));
        }
        return;
      }
      failures.push_back(str_cat(candidate.name(), ": ", why));
    } catch (const OutOfMemory& error) {
      too_much = candidate.algorithm.memory;
      no_memory = error.what();
      failures.push_back(str_cat(candidate.name(), ": no memory for its workspace of ", too_much, " bytes"));
    }
  }
  if (!no_memory.empty()) throw OutOfMemory(no_memory);
  throw Error(str_cat("cuDNN refused every algorithm: ", join(failures, "; ")));
}

template <typename Pass>
void run(const Conv2dShape& s, const Tensor& like, const Operands& o) {
  const auto what = [&] { return str_cat(Pass::kName, " of ", s.describe(), " ", like.dtype()); };
  try {
    run_plan(*plan_of<Pass>(s, like.dtype(), like.device(), o), like.device(), o, what);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(str_cat("workspace for ", what(), ": ", error.what()));
  } catch (const Error& error) {
    throw Error(str_cat(what(), ": ", error.what()));
  }
}

// An input among the operands: passes do not write to it, whatever Operands could.
void* input(const Tensor& tensor) { return const_cast<void*>(tensor.raw()); }

// What follows the sum, in one pass over memory.
void finish_cuda(const Tensor& bias, bool relu, Tensor& y) {
  if (relu) {
    add_bias_relu_cuda(bias, y);
  } else if (bias.defined()) {
    add_bias_cuda(bias, y);
  }
}

void forward_cuda(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                  Tensor& y) {
  const Conv2dShape shape = Conv2dShape::of(x.shape(), weight.shape(), y.shape(), params);
  run<Forward>(shape, y, {input(x), input(weight), y.mutable_raw()});
  finish_cuda(bias, params.relu, y);
}

void backward_data_cuda(const Tensor& grad_y, const Tensor& weight, const Tensor& bias,
                        const Conv2dParams& params, Tensor& grad_x) {
  const Conv2dShape shape = Conv2dShape::of(grad_x.shape(), weight.shape(), grad_y.shape(), params);
  run<BackwardData>(shape, grad_x, {grad_x.mutable_raw(), input(weight), input(grad_y)});
  finish_cuda(bias, params.relu, grad_x);
}

void backward_cuda(const Tensor& x, const Tensor& weight, const Tensor& grad_y, const Conv2dParams& params,
                   Tensor* grad_x, Tensor* grad_weight) {
  if (grad_x) backward_data_cuda(grad_y, weight, Tensor(), params.with_relu(false), *grad_x);
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
