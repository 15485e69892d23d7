#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/memory.h"
#include "core/backend/cuda/pinned.h"
#include "core/ops/conv2d_kernel.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear_kernel.h"
#include "tests/cuda_emulator/emulator.h"

// Mistakes that a GPU answers with silence or a crash much later, planted one by one: the emulated device
// must catch each. Only in the emulated build.
namespace osprey {
namespace {

constexpr Device kCuda{DeviceType::kCUDA, 0};

struct AddOne {
  const float* in;
  float* out;
  void operator()(int64_t i) const { out[i] = in[i] + 1; }
};

Tensor device_ones(int64_t n) { return Tensor::full({n}, 1, DType::kF32, kCuda); }

class Faults : public ::testing::Test {
 protected:
  Faults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Faults, HostReadOfDeviceMemory) {
  const Tensor x = device_ones(4);
  synchronize(kCuda);
  EXPECT_DEATH(
      {
        volatile float value = x.data<float>()[2];
        (void)value;
      },
      "host code touched device memory at .*live block of 16 bytes.* on device 0");
}

TEST_F(Faults, HostWriteToDeviceMemory) {
  Tensor x = device_ones(4);
  EXPECT_DEATH(x.mutable_data<float>()[0] = 3, "host code touched device memory");
}

TEST_F(Faults, NothingHasRunBeforeSomebodyWaits) {
  const Tensor x = device_ones(3);
  PinnedBuffer host(12);
  std::memset(host.data(), 0, 12);
  OSPREY_CUDA(cudaMemcpyAsync(host.data(), x.raw(), 12, cudaMemcpyDeviceToHost, current_stream(kCuda)));
  // A GPU would have shown some value here.
  EXPECT_DEATH(
      {
        volatile float early = *static_cast<float*>(host.data());
        (void)early;
      },
      "");
  synchronize(kCuda);
  EXPECT_EQ(*static_cast<float*>(host.data()), 1);
}

TEST_F(Faults, ChangingTheSourceOfACopyThatIsOnItsWay) {
  Tensor x = device_ones(3);
  PinnedBuffer host(12);
  std::memset(host.data(), 0, 12);
  OSPREY_CUDA(
      cudaMemcpyAsync(x.mutable_raw(), host.data(), 12, cudaMemcpyHostToDevice, current_stream(kCuda)));
  EXPECT_DEATH(*static_cast<volatile float*>(host.data()) = 1, "");
  synchronize(kCuda);
  *static_cast<float*>(host.data()) = 1;  // now it may
}

TEST_F(Faults, ResultOfAnotherStreamWithoutAnEvent) {
  Tensor x = device_ones(3), y({3}, DType::kF32, kCuda);
  const CudaStream other(kCuda);
  synchronize(kCuda);
  parallel_for_cuda(kCuda, 3, AddOne{x.data<float>(), x.mutable_data<float>()});
  const auto increment_elsewhere = [&] {
    const StreamGuard guard(other);
    parallel_for_cuda(kCuda, 3, AddOne{x.data<float>(), y.mutable_data<float>()});
    synchronize(kCuda);
  };
  increment_elsewhere();
  EXPECT_EQ(y.item_at(0), 2) << "the other stream ran ahead, and the test sees it";
  CudaEvent ready(kCuda);
  ready.record(current_stream(kCuda));
  ready.block(other.get());
  increment_elsewhere();
  EXPECT_EQ(y.item_at(0), 3);
}

TEST_F(Faults, UninitialisedMemoryReadsAsNaN) {
  const Tensor x({5}, DType::kF16, kCuda);
  EXPECT_TRUE(std::isnan(x.item_at(4)));
  // Also memory that held numbers a moment ago.
  { const Tensor old = device_ones(1024); }
  EXPECT_TRUE(std::isnan(Tensor({1024}, DType::kF32, kCuda).item_at(7)));
}

TEST_F(Faults, KernelGetsMemoryThatWasReleased) {
  Tensor y = device_ones(3);
  const float* stale = nullptr;
  {
    const Tensor x = device_ones(3);
    stale = x.data<float>();
  }
  EXPECT_DEATH(parallel_for_cuda(kCuda, 3, AddOne{stale, y.mutable_data<float>()}),
               "AddOne.*is in a released \\(queued\\) block of 12 bytes");
  synchronize(kCuda);
  EXPECT_DEATH(parallel_for_cuda(kCuda, 3, AddOne{stale, y.mutable_data<float>()}), "is in a released block");
}

TEST_F(Faults, KernelGetsAHostPointer) {
  const Tensor x = Tensor::full({3}, 1, DType::kF32);
  Tensor y = device_ones(3);
  EXPECT_DEATH(parallel_for_cuda(kCuda, 3, AddOne{x.data<float>(), y.mutable_data<float>()}),
               "AddOne.*argument byte 0 is the host pointer");
}

TEST_F(Faults, KernelRunsPastTheEnd) {
  Tensor x = device_ones(3);
  EXPECT_DEATH(
      {
        parallel_for_cuda(kCuda, 4, AddOne{x.data<float>(), x.mutable_data<float>()});
        synchronize(kCuda);
        x = Tensor();
        synchronize(kCuda);
      },
      "something wrote past the end");
  EXPECT_DEATH(
      {
        parallel_for_cuda(kCuda, 1000, AddOne{x.data<float>(), x.mutable_data<float>()});
        synchronize(kCuda);
      },
      "AddOne.* touched");
}

TEST_F(Faults, CopyLongerThanItsBlock) {
  Tensor x = device_ones(3);
  const PinnedBuffer host(64);
  EXPECT_DEATH(
      (void)cudaMemcpyAsync(x.mutable_raw(), host.data(), 16, cudaMemcpyHostToDevice, current_stream(kCuda)),
      "cudaMemcpyAsync: dst = .* needs 16 bytes, more than its live block of 12 bytes");
}

TEST_F(Faults, CopyInTheWrongDirection) {
  Tensor x = device_ones(3);
  const PinnedBuffer host(64);
  try {
    OSPREY_CUDA(
        cudaMemcpyAsync(host.data(), x.mutable_raw(), 12, cudaMemcpyHostToDevice, current_stream(kCuda)));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cudaErrorInvalidMemcpyDirection"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("cudaMemcpyAsync(host.data()"), std::string::npos);
  }
}

TEST_F(Faults, DefaultStream) {
  Tensor x = device_ones(3);
  EXPECT_DEATH((void)cudaMemsetAsync(x.mutable_raw(), 0, 12, nullptr), "the default stream synchronises");
}

TEST_F(Faults, StreamOfAnotherDevice) {
  Tensor x = device_ones(3);
  const cudaStream_t stream = current_stream(kCuda);
  OSPREY_CUDA(cudaSetDevice(1));
  EXPECT_DEATH((void)cudaMemsetAsync(x.mutable_raw(), 0, 12, stream),
               "a stream of device 0 while device 1 is the thread's current one");
}

TEST_F(Faults, MemoryOfAnotherDevice) {
  Tensor x = device_ones(3);
  Tensor y = Tensor::zeros({3}, DType::kF32, {DeviceType::kCUDA, 1});
  EXPECT_DEATH(parallel_for_cuda(kCuda, 3, AddOne{y.data<float>(), x.mutable_data<float>()}),
               "AddOne.*belongs to another device");
}

TEST_F(Faults, ReleasedTwice) {
  void* data = allocate_cuda_memory(64, kCuda);
  OSPREY_CUDA(cudaFreeAsync(data, current_stream(kCuda)));
  EXPECT_DEATH(release_cuda_memory(data, 64, kCuda), "cudaFreeAsync: twice");
}

// Kernels that fail while they run: some later call tells it.
class BrokenKernel : public Faults {
 protected:
  ~BrokenKernel() override {
    ::unsetenv("CUDA_LAUNCH_BLOCKING");
    emulator::machine() = {};
  }

  // Two ops, the first of which fails; then the host waits.
  static std::string error() {
    const std::string guilty = "backbone.layer1", innocent = "rpn_head";
    Tensor x = device_ones(3);
    synchronize(kCuda);
    try {
      {
        const ModuleScope scope(guilty);
        emulator::machine().next_launch_fails = cudaErrorIllegalAddress;
        x = relu(x).value();
      }
      const ModuleScope scope(innocent);
      x = sigmoid(x).value();
      synchronize(kCuda);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(BrokenKernel, IsToldLateWithAHintThatThePlaceMayBeInnocent) {
  EXPECT_EQ(error(),
            "cudaStreamSynchronize(current_stream(device)): cudaErrorIllegalAddress: cudaErrorIllegalAddress "
            "(rpn_head); "
            "this is where it was noticed, a kernel launched earlier may have failed: run again with "
            "CUDA_LAUNCH_BLOCKING=1 in the environment to see which");
}

TEST_F(BrokenKernel, IsToldByItsOwnLaunchWhenLaunchesBlock) {
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  EXPECT_EQ(error(),
            "launch over 3 x 1: cudaErrorIllegalAddress: cudaErrorIllegalAddress (relu in backbone.layer1)");
}

// Every kind of call that may be the one to tell it.
TEST_F(BrokenKernel, EveryCallThatTellsItGivesTheHint) {
  Tensor x = device_ones(4);
  const Tensor host = Tensor::full({4}, 1, DType::kF32);
  const Tensor square = Tensor::full({2, 2}, 1, DType::kF32, kCuda), map = square.reshape({1, 2, 2, 1});
  const Tensor kernel = Tensor::full({1, 1, 1, 1}, 1, DType::kF32, kCuda);
  Tensor product({2, 2}, DType::kF32, kCuda), result = product.reshape({1, 2, 2, 1});
  synchronize(kCuda);
  emulator::machine().broken = cudaErrorLaunchFailure;
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"kernel", [&] { (void)relu(x); }},
      {"allocation", [&] { Tensor({1}, DType::kF32, kCuda); }},
      {"upload", [&] { x.copy_from(host); }},
      {"fill", [&] { x.fill(0); }},
      {"wait", [&] { synchronize(kCuda); }},
      {"product",
       [&] {
         matmul_kernel(kCuda, {square, square, false, false, {}, false}, product);
       }},
      {"convolution", [&] { conv2d_forward_kernel(kCuda, map, kernel, {}, Conv2dParams{}, result); }}};
  for (const auto& [what, call] : calls) {
    std::string message = "no error";
    try {
      call();
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("CUDA_LAUNCH_BLOCKING=1"), std::string::npos) << what << ": " << message;
  }
}

}  // namespace
}  // namespace osprey
