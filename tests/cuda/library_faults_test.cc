#include <gtest/gtest.h>

#include "core/backend/cuda/cublas.h"
#include "core/backend/cuda/cudnn.h"
#include "core/backend/cuda/memory.h"
#include "core/backend/cuda/runtime.h"
#include "core/backend/dense_math.h"
#include "core/ops/conv2d.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "tests/cuda_emulator/cudnn_algorithms.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/golden.h"

// Mistakes in calls of cuBLAS and cuDNN, planted one by one: the double must catch each. Only in the emulated
// build.
namespace osprey {
namespace {

using testing::uniform;

constexpr Device kCuda{DeviceType::kCUDA, 0};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

#define EXPECT_ERROR(call, text)                                   \
  do {                                                             \
    const std::string message_ = error_of([&] { call; });          \
    EXPECT_NE(message_.find(text), std::string::npos) << message_; \
  } while (0)

// c (2, 3) = a (2, 4) b (4, 3), described to cuBLAS in columns; one thing wrong at a time.
class BlasFaults : public ::testing::Test {
 protected:
  BlasFaults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  Tensor a = uniform({2, 4}, -1, 1, 1).to(kCuda), b = uniform({4, 3}, -1, 1, 2).to(kCuda);
  Tensor c{{2, 3}, DType::kF32, kCuda};
  const void* left = b.raw();
  const void* right = a.raw();
  void* out = c.mutable_raw();
  const void* alpha = &one_;
  int lda = 3, ldb = 4, ldc = 3;
  cudaDataType_t type_a = CUDA_R_32F, type_b = CUDA_R_32F, type_c = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;

  void multiply() {
    OSPREY_CUBLAS(cublasGemmEx(cublas_handle(kCuda), CUBLAS_OP_N, CUBLAS_OP_N, 3, 2, 4, alpha, left, type_a,
                               lda, right, type_b, ldb, &zero_, out, type_c, ldc, compute,
                               CUBLAS_GEMM_DEFAULT));
  }

 private:
  const float one_ = 1, zero_ = 0;
};

TEST_F(BlasFaults, NoneMeansTheProduct) {
  multiply();
  EXPECT_LE(testing::relative_l2(c, matmul(a.to(kCPU), b.to(kCPU))), 1e-6);
}
TEST_F(BlasFaults, LeadingDimensionTooSmall) {
  lda = 2;
  EXPECT_ERROR(multiply(), "CUBLAS_STATUS_INVALID_VALUE");
}
TEST_F(BlasFaults, LeadingDimensionTooLarge) {
  ldb = 5;  // reads past the end of a
  EXPECT_DEATH(multiply(), "cublasGemmEx: B = .* needs 36 bytes, more than its live block of 32");
}
TEST_F(BlasFaults, DataTypesThatDoNotGoTogether) {
  type_a = CUDA_R_16F;
  EXPECT_ERROR(multiply(), "CUBLAS_STATUS_NOT_SUPPORTED");
}
TEST_F(BlasFaults, ResultTypeThatDoesNotGoWithTheInputs) {
  type_c = CUDA_R_16F;
  EXPECT_ERROR(multiply(), "CUBLAS_STATUS_NOT_SUPPORTED");
}
TEST_F(BlasFaults, SumsInHalf) {
  compute = CUBLAS_COMPUTE_16F;
  EXPECT_ERROR(multiply(), "CUBLAS_STATUS_NOT_SUPPORTED");
}
TEST_F(BlasFaults, HostPointerForAMatrix) {
  const Tensor host = a.to(kCPU);
  right = host.raw();
  EXPECT_DEATH(multiply(), "cublasGemmEx: B = .* is not device memory but the host's");
}
TEST_F(BlasFaults, DevicePointerForAScalar) {
  alpha = a.raw();
  EXPECT_DEATH(multiply(), "alpha and beta are device pointers");
}
TEST_F(BlasFaults, MatrixThatWasReleased) {
  a = Tensor();
  EXPECT_DEATH(multiply(), "cublasGemmEx: B = .* is in a released");
}
TEST_F(BlasFaults, HandleWithoutAStream) {
  cublasHandle_t handle = nullptr;
  OSPREY_CUBLAS(cublasCreate(&handle));
  const float one = 1, zero = 0;
  EXPECT_DEATH((void)cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 3, 2, 4, &one, left, type_a, lda, right,
                                  type_b, ldb, &zero, out, type_c, ldc, compute, CUBLAS_GEMM_DEFAULT),
               "the handle was given no stream");
  OSPREY_CUBLAS(cublasDestroy(handle));
}
TEST_F(BlasFaults, TensorCoresThatCutF32) {
  const Tensor x = uniform({64, 64}, -1, 1, 3), y = uniform({64, 64}, -1, 1, 4);
  const Tensor exact = matmul(x.to(DType::kF64), y.to(DType::kF64));
  EXPECT_LE(testing::relative_l2(matmul(x.to(kCuda), y.to(kCuda)), exact), 1e-6);
  dense_math_policy().allow_tf32 = true;
  EXPECT_GE(testing::relative_l2(matmul(x.to(kCuda), y.to(kCuda)), exact), 1e-5) << "the double shows TF32";
  dense_math_policy().allow_tf32 = false;
}

// y (2, 5, 4, 6) = x (2, 5, 4, 3) * weight (6, 3, 3, 3), padding 1; one thing wrong at a time.
class DnnFaults : public ::testing::Test {
 protected:
  DnnFaults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  Tensor x = uniform({2, 5, 4, 3}, -1, 1, 1).to(kCuda), weight = uniform({6, 3, 3, 3}, -1, 1, 2).to(kCuda);
  Tensor y{{2, 5, 4, 6}, DType::kF32, kCuda};
  cudnnTensorFormat_t layout = CUDNN_TENSOR_NHWC;
  cudnnDataType_t type_x = CUDNN_DATA_FLOAT, type_w = CUDNN_DATA_FLOAT, sums = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_FMA_MATH;
  cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  int out_h = 5, pad = 1, groups = 1;
  size_t workspace_bytes = 1 << 20;
  void* workspace = nullptr;
  const void* source = x.raw();

  void convolve() {
    const CudnnTensor xd, yd;
    const CudnnFilter wd;
    const CudnnConvolution cd;
    OSPREY_CUDNN(cudnnSetTensor4dDescriptor(xd.get(), layout, type_x, 2, 3, 5, 4));
    OSPREY_CUDNN(cudnnSetTensor4dDescriptor(yd.get(), CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 6, out_h, 4));
    OSPREY_CUDNN(cudnnSetFilter4dDescriptor(wd.get(), type_w, CUDNN_TENSOR_NHWC, 6, 3, 3, 3));
    OSPREY_CUDNN(
        cudnnSetConvolution2dDescriptor(cd.get(), pad, pad, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, sums));
    OSPREY_CUDNN(cudnnSetConvolutionGroupCount(cd.get(), groups));
    OSPREY_CUDNN(cudnnSetConvolutionMathType(cd.get(), math));
    const CudaWorkspace space(1 << 20, kCuda);
    const float one = 1, zero = 0;
    OSPREY_CUDNN(cudnnConvolutionForward(cudnn_handle(kCuda), &one, xd.get(), source, wd.get(), weight.raw(),
                                         cd.get(), algorithm, workspace ? workspace : space.data(),
                                         workspace_bytes, &zero, yd.get(), y.mutable_raw()));
  }
  double error() {
    const Tensor exact =
        conv2d(x.to(kCPU).to(DType::kF64), weight.to(kCPU).to(DType::kF64), {}, Conv2dParams::square(1, 1))
            .value();
    return testing::relative_l2(y, exact);
  }
};

TEST_F(DnnFaults, NoneMeansTheConvolution) {
  convolve();
  EXPECT_LE(error(), 1e-6);
}
TEST_F(DnnFaults, Layout) {
  layout = CUDNN_TENSOR_NCHW;
  EXPECT_ERROR(convolve(), "layouts differ from NHWC");
}
TEST_F(DnnFaults, DataType) {
  type_w = CUDNN_DATA_HALF;
  EXPECT_ERROR(convolve(), "CUDNN_STATUS_BAD_PARAM: data types differ");
}
TEST_F(DnnFaults, SumsInHalf) {
  sums = CUDNN_DATA_HALF;
  EXPECT_ERROR(convolve(), "sums must be in f32");
}
TEST_F(DnnFaults, OutputExtent) {
  out_h = 4;
  EXPECT_ERROR(convolve(), "y is (2, 4, 4, 6), must be (2, 5, 4, 6)");
}
TEST_F(DnnFaults, Groups) {
  groups = 3;
  EXPECT_ERROR(convolve(), "channels: x 3, w 3 for each of 3 groups");
}
TEST_F(DnnFaults, WorkspaceTooSmall) {
  workspace_bytes = 16;
  EXPECT_ERROR(convolve(), "workspace of 16 bytes, the algorithm needs");
}
TEST_F(DnnFaults, WorkspaceSmallerThanItsSize) {
  const CudaWorkspace small(64, kCuda);
  workspace = small.data();
  EXPECT_DEATH(convolve(), "cudnnConvolutionForward: workSpace = .* more than its live block of 64 bytes");
}
TEST_F(DnnFaults, AlgorithmThatDoesNotKnowTheLayout) {
  algorithm = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD;
  EXPECT_ERROR(convolve(), "does not know NHWC");
}
TEST_F(DnnFaults, MapLargerThanItsMemory) {
  const Tensor small = uniform({2, 5, 4, 2}, -1, 1, 1).to(kCuda);
  source = small.raw();
  EXPECT_DEATH(convolve(),
               "cudnnConvolutionForward: x = .* needs 480 bytes, more than its live block of 320");
}
TEST_F(DnnFaults, HostPointerForAMap) {
  const Tensor host = x.to(kCPU);
  source = host.raw();
  EXPECT_DEATH(convolve(), "cudnnConvolutionForward: x = .* is not device memory but the host's");
}
TEST_F(DnnFaults, DefaultMathCutsF32) {
  math = CUDNN_DEFAULT_MATH;
  convolve();
  EXPECT_GE(error(), 1e-5);
}
TEST_F(DnnFaults, DestroyedDescriptor) {
  cudnnTensorDescriptor_t descriptor = nullptr;
  OSPREY_CUDNN(cudnnCreateTensorDescriptor(&descriptor));
  OSPREY_CUDNN(cudnnDestroyTensorDescriptor(descriptor));
  EXPECT_ERROR(OSPREY_CUDNN(cudnnDestroyTensorDescriptor(descriptor)), "is destroyed twice");
}

// A handle that was made for one stream works on the one that the thread uses now.
TEST(LibraryStreams, HandlesFollowTheThreadsStream) {
  const Tensor a = uniform({8, 8}, -1, 1, 1), x = uniform({1, 8, 8, 4}, -1, 1, 2),
               w = uniform({4, 3, 3, 4}, -1, 1, 3);
  const Tensor there = a.to(kCuda), map = x.to(kCuda), kernel = w.to(kCuda);
  const auto product = [&] { return matmul(there, there); };
  const auto convolution = [&] { return conv2d(map, kernel, {}, Conv2dParams::square(1, 1)).value(); };
  const Tensor first_product = product().to(kCPU), first_convolution = convolution().to(kCPU);
  const CudaStream other(kCuda);
  const StreamGuard guard(other);
  EXPECT_TRUE(bitwise_equal(product(), first_product));
  EXPECT_TRUE(bitwise_equal(convolution(), first_convolution));
}

// The policy against a library whose list of algorithms starts with traps.
class ConvolutionPolicy : public ::testing::Test {
 protected:
  ~ConvolutionPolicy() override { dense_math_policy() = DenseMathPolicy(); }

  // Relative error of value and both gradients on CUDA against f64.
  static double worst_error(DType dtype) {
    const Tensor x = uniform({2, 9, 8, 4}, -1, 1, 1).to(dtype), w = uniform({6, 3, 3, 4}, -1, 1, 2).to(dtype);
    const Tensor g = uniform({2, 9, 8, 6}, -1, 1, 3).to(dtype);
    const auto run = [&](DType type, Device device) {
      const Variable input(x.to(type).to(device), true), kernel(w.to(type).to(device), true);
      const Variable y = conv2d(input, kernel, {}, Conv2dParams::square(1, 1));
      y.backward(g.to(type).to(device));
      return Tensors{y.value(), input.grad(), kernel.grad()};
    };
    const Tensors actual = run(dtype, kCuda), exact = run(DType::kF64, kCPU);
    double worst = 0;
    for (size_t i = 0; i < exact.size(); ++i)
      worst = std::max(worst, testing::relative_l2(actual[i], exact[i]));
    return worst;
  }
};

TEST_F(ConvolutionPolicy, HeuristicsMeasurementsAndDeterminismGiveTheSameNumbers) {
  dense_math_policy().workspace_limit =
      1 << 20;  // measuring takes all of it, and fresh memory is filled with NaN
  for (const bool benchmark : {false, true}) {
    for (const bool deterministic : {false, true}) {
      dense_math_policy().benchmark = benchmark;
      dense_math_policy().deterministic = deterministic;
      EXPECT_LE(worst_error(DType::kF32), 2e-6) << benchmark << deterministic;
      EXPECT_LE(worst_error(DType::kF16), 4.9e-4) << benchmark << deterministic;
    }
  }
}

TEST_F(ConvolutionPolicy, TF32IsOptIn) {
  EXPECT_LE(worst_error(DType::kF32), 2e-6);
  dense_math_policy().allow_tf32 = true;
  EXPECT_GE(worst_error(DType::kF32), 1e-5);
}

TEST_F(ConvolutionPolicy, DeterministicWithoutRoomIsAnErrorThatNamesTheConvolution) {
  dense_math_policy().deterministic = true;
  dense_math_policy().workspace_limit = 0;
  EXPECT_ERROR(worst_error(DType::kF32),
               "gradient by x of conv2d of (2, 9, 8, 4) with weight (6, 3, 3, 4), stride 1x1, padding 1x1, "
               "dilation 1x1, "
               "groups 1 f32: cuDNN has no algorithm within a workspace of 0 bytes that is deterministic");
}

TEST_F(ConvolutionPolicy, OnlyTheFirstOfAShapeIsMeasured) {
  dense_math_policy().benchmark = true;
  dense_math_policy().workspace_limit = (1 << 20) - 256;  // plans of its own
  (void)worst_error(DType::kF32);
  const int64_t waits = emulator::counts().waits;
  (void)worst_error(DType::kF32);
  EXPECT_EQ(emulator::counts().waits - waits, 3) << "one for each result that is compared";
}

// Algorithms that are listed as fit and refused by the call, and workspaces that cannot be had.
class ConvolutionFallback : public ConvolutionPolicy {
 protected:
  ConvolutionFallback() {
    dense_math_policy().workspace_limit = (1 << 20) + 256 * ++plans_;
  }  // plans of its own
  ~ConvolutionFallback() override {
    emulator::refusals() = {};
    emulator::machine() = {};
  }
  // In each pass the algorithm that the list puts first.
  static void refuse_the_first(cudnnStatus_t status) {
    emulator::refusals().forward[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM] = status;
    emulator::refusals().backward_data[CUDNN_CONVOLUTION_BWD_DATA_ALGO_0] = status;
    emulator::refusals().backward_weight[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0] = status;
  }

 private:
  static inline int plans_ = 0;
};

TEST_F(ConvolutionFallback, TheNextAlgorithmIsTakenAndTheRefusedOneNotTriedAgain) {
  for (const cudnnStatus_t status : {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_EXECUTION_FAILED,
                                     CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED}) {
    for (const DType dtype : {DType::kF32, DType::kF16}) {
      dense_math_policy().workspace_limit += 1 << 20;
      refuse_the_first(status);
      emulator::refusals().count = 0;
      for (int again = 0; again < 3; ++again) {
        EXPECT_LE(worst_error(dtype), dtype == DType::kF32 ? 2e-6 : 4.9e-4);
        EXPECT_EQ(emulator::refusals().count, 3) << "once in each pass";
      }
    }
  }
}

TEST_F(ConvolutionFallback, AnAlgorithmThatWorkedAndIsRefusedLaterGivesWay) {
  EXPECT_LE(worst_error(DType::kF32), 2e-6);
  refuse_the_first(CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_LE(worst_error(DType::kF32), 2e-6);
}

TEST_F(ConvolutionFallback, AMistakeInTheCallIsNoReasonToTryAnother) {
  refuse_the_first(CUDNN_STATUS_BAD_PARAM);
  EXPECT_ERROR(worst_error(DType::kF32),
               "cudnnConvolutionForward: CUDNN_STATUS_BAD_PARAM: the test refuses it");
  EXPECT_EQ(emulator::refusals().count, 1);
}

TEST_F(ConvolutionFallback, WithNoneLeftTheErrorNamesThemAll) {
  refuse_the_first(CUDNN_STATUS_NOT_SUPPORTED);
  emulator::refusals().forward[CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM] = CUDNN_STATUS_EXECUTION_FAILED;
  EXPECT_EQ(
      error_of([] { (void)worst_error(DType::kF32); }),
      "conv2d of (2, 9, 8, 4) with weight (6, 3, 3, 4), stride 1x1, padding 1x1, dilation 1x1, groups 1 f32: "
      "cuDNN "
      "refused every algorithm: IMPLICIT_PRECOMP_GEMM: CUDNN_STATUS_NOT_SUPPORTED: the test refuses it; "
      "IMPLICIT_GEMM: CUDNN_STATUS_EXECUTION_FAILED: the test refuses it");
}

TEST_F(ConvolutionFallback, WithoutMemoryForAWorkspaceAnAlgorithmWithLessIsTaken) {
  const Tensor x = uniform({2, 9, 8, 4}, -1, 1, 1), w = uniform({6, 3, 3, 4}, -1, 1, 2);
  const Tensor exact = conv2d(x, w, {}, Conv2dParams::square(1, 1)).value();
  const Tensor there = x.to(kCuda), kernel = w.to(kCuda);
  synchronize(kCuda);
  size_t free = 0, total = 0;
  OSPREY_CUDA(cudaMemGetInfo(&free, &total));
  emulator::machine().memory_bytes = total - free + 4096;  // enough for y
  const int64_t waits = emulator::counts().waits;
  const Tensor y = conv2d(there, kernel, {}, Conv2dParams::square(1, 1)).value();
  EXPECT_GT(emulator::counts().waits, waits) << "memory that others were done with was waited for";
  EXPECT_LE(testing::relative_l2(y, exact), 1e-6);
  emulator::machine().memory_bytes += 4096;  // enough for another y
  const int64_t waits_before = emulator::counts().waits;
  (void)conv2d(there, kernel, {}, Conv2dParams::square(1, 1));
  EXPECT_EQ(emulator::counts().waits, waits_before) << "what does not fit is not asked for again";
}

TEST_F(ConvolutionFallback, MeasuringTakesWhatMemoryThereIs) {
  dense_math_policy().benchmark = true;
  dense_math_policy().workspace_limit = int64_t{1} << 40;
  EXPECT_LE(worst_error(DType::kF32), 2e-6);
}

// A second device of 64 MiB, of which `free` bytes are left when what `module` makes is there.
class OutOfMemoryText : public ConvolutionFallback {
 protected:
  static constexpr Device kSecond{DeviceType::kCUDA, 1};

  Tensors hold(size_t free) const {
    synchronize(kSecond);
    const auto made_by = [](const std::string& module, int64_t bytes) {
      const ModuleScope scope(module);
      return Tensor({bytes}, DType::kU8, kSecond);
    };
    Tensors held{made_by("backbone.layer1", 12 << 20), made_by("backbone.layer1", 12 << 20),
                 made_by("neck", 16 << 20)};
    size_t left = 0, total = 0;
    OSPREY_CUDA(cudaSetDevice(1));
    OSPREY_CUDA(cudaMemGetInfo(&left, &total));
    emulator::machine().memory_bytes = total - left + free;
    return held;
  }
};

TEST_F(OutOfMemoryText, OfAnOp) {
  const Variable x(Tensor::full({1 << 20}, 1, DType::kF32, kSecond));
  const Tensors held = hold(4096);
  const std::string module = "rpn_head";
  const ModuleScope scope(module);
  EXPECT_EQ(error_of([&] { (void)relu(x); }),
            "f32 (1048576): out of memory on cuda:1: 4.0 MiB wanted by relu in rpn_head, 4.0 KiB of 44.0 MiB "
            "free, 44.0 MiB "
            "in use by this process; largest: backbone.layer1 24.0 MiB in 2 blocks, neck 16.0 MiB in 1 "
            "block, (no module) "
            "4.0 MiB in 1 block");
}

TEST_F(OutOfMemoryText, OfAWorkspace) {
  dense_math_policy().deterministic = true;  // no algorithm without a workspace
  const std::string module = "rpn_head";
  const ModuleScope scope(module);
  const Variable x(uniform({2, 9, 8, 4}, -1, 1, 1).to(kSecond), true),
      w(uniform({6, 3, 3, 4}, -1, 1, 2).to(kSecond));
  const Variable y = conv2d(x, w, {}, Conv2dParams::square(1, 1));
  const Tensor g = uniform({2, 9, 8, 6}, -1, 1, 3).to(kSecond);
  const Tensors held = hold(4096);  // enough for the gradient
  EXPECT_EQ(error_of([&] { y.backward(g); }),
            "workspace for gradient by x of conv2d of (2, 9, 8, 4) with weight (6, 3, 3, 4), stride 1x1, "
            "padding 1x1, dilation "
            "1x1, groups 1 f32: out of memory on cuda:1: 4.8 KiB wanted by conv2d backward in rpn_head, 0.0 "
            "KiB of 40.0 MiB "
            "free, 40.0 MiB in use by this process; largest: backbone.layer1 24.0 MiB in 2 blocks, neck 16.0 "
            "MiB in 1 block, "
            "rpn_head 12.1 KiB in 5 blocks");
}

}  // namespace
}  // namespace osprey
