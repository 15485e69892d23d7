#include "core/backend/cuda/runtime.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/autograd/variable.h"
#include "core/backend/cuda/memory.h"
#include "core/base/work_context.h"
#include "core/ops/elementwise.h"
#include "tests/devices.h"

// Streams, memory and copies of the CUDA backend, on a GPU and on the emulated one alike.
namespace osprey {
namespace {

constexpr Device kCuda{DeviceType::kCUDA, 0};

class CudaRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

Tensor counting(int64_t n) {
  Tensor values({n}, DType::kF32);
  for (int64_t i = 0; i < n; ++i) values.mutable_data<float>()[i] = static_cast<float>(i % 1000);
  return values;
}

TEST_F(CudaRuntime, CopiesOfEverySizeComeBackUnchanged) {
  for (const int64_t n : {int64_t{1}, int64_t{1000}, int64_t{4 << 20}, int64_t{(9 << 20) + 17}}) {
    const Tensor values = counting(n);
    EXPECT_TRUE(bitwise_equal(values.to(kCuda).to(kCPU), values)) << n;
    EXPECT_TRUE(bitwise_equal(values.to(kCuda).clone(), values)) << n;
  }
}

TEST_F(CudaRuntime, UploadsDoNotWait) {
  const Tensor values = counting(1000);
  const int64_t before = synchronization_count();
  const Tensor moved = values.to(kCuda);
  const Tensor sum = (Variable(moved) + Variable(moved)).value().to(DType::kF16).clone();
  const Tensor zero = Tensor::zeros({3}, DType::kF32, kCuda);
  EXPECT_EQ(synchronization_count(), before);
  EXPECT_EQ(sum.item_at(999), 1998);
  EXPECT_EQ(synchronization_count(), before + 1);
}

TEST_F(CudaRuntime, PeakCountsWhatWasHeldAtOnce) {
  const int64_t held = cuda_memory_stats(kCuda).in_use;
  {
    const Tensor a({1 << 20}, DType::kU8, kCuda), b({3 << 20}, DType::kU8, kCuda);
    EXPECT_EQ(cuda_memory_stats(kCuda).in_use, held + (4 << 20));
  }
  EXPECT_EQ(cuda_memory_stats(kCuda).in_use, held);
  EXPECT_GE(cuda_memory_stats(kCuda).peak, held + (4 << 20));
  EXPECT_GE(memory_stats(DeviceType::kCUDA).peak_bytes, 4 << 20);
}

TEST_F(CudaRuntime, OutOfMemoryNamesSizeShapeOpModuleAndLargestConsumers) {
  const std::string backbone = "backbone.layer1", head = "rpn_head";
  Tensors held;
  {
    const ModuleScope scope(backbone);
    held.emplace_back(Shape{32 << 20}, DType::kU8, kCuda);
    held.emplace_back(Shape{32 << 20}, DType::kU8, kCuda);
  }
  const ModuleScope scope(head);
  const OpScope op("conv2d");
  try {
    const Tensor huge({int64_t{1} << 44}, DType::kF32, kCuda);
    FAIL() << "no error";
  } catch (const OutOfMemory& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("f32 (17592186044416): out of memory on cuda:0: 65536.00 GiB wanted by conv2d in "
                           "rpn_head"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("backbone.layer1 64.0 MiB in 2 blocks"), std::string::npos) << message;
  }
  EXPECT_EQ(Tensor::zeros({4}, DType::kF32, kCuda).item_at(3), 0) << "the device goes on";
}

TEST_F(CudaRuntime, ThreadsHaveStreamsOfTheirOwn) {
  const cudaStream_t here = current_stream(kCuda);
  EXPECT_EQ(here, current_stream(kCuda));
  cudaStream_t there = nullptr;
  Tensor made;
  std::thread([&] {
    there = current_stream(kCuda);
    made = Tensor::full({3}, 2, DType::kF32, kCuda);
    synchronize(kCuda);
  }).join();
  EXPECT_NE(here, there);
  EXPECT_EQ(made.item_at(2), 2);
  made = Tensor();  // released here, on the stream that made it
}

TEST_F(CudaRuntime, MemoryOfAnotherThreadIsReleasedAfterItsUser) {
  Tensor made;
  std::thread([&] {
    made = Tensor::full({1 << 16}, 2, DType::kF32, kCuda);
    synchronize(kCuda);
  }).join();
  const Tensor sum = (Variable(made) + Variable(made)).value();  // queued here
  made = Tensor();  // queued on the stream of a thread that is gone
  EXPECT_EQ(sum.item_at((1 << 16) - 1), 4);
}

// An event that is asked too early answers "not yet", which is no error of whatever is launched next.
TEST_F(CudaRuntime, AnEventThatIsNotReachedYetLeavesNoErrorBehind) {
  const Tensor x = Tensor::full({1 << 22}, 1, DType::kF32, kCuda);
  CudaEvent event(kCuda);
  event.record(current_stream(kCuda));
  (void)event.reached();
  EXPECT_EQ((Variable(x) + Variable(x)).value().item_at(7), 2);
  EXPECT_TRUE(event.reached());
}

TEST_F(CudaRuntime, AStreamGuardSendsWorkElsewhereAndBack) {
  const CudaStream upload(kCuda);
  const cudaStream_t before = current_stream(kCuda);
  {
    const StreamGuard guard(upload);
    EXPECT_EQ(current_stream(kCuda), upload.get());
  }
  EXPECT_EQ(current_stream(kCuda), before);
}

TEST_F(CudaRuntime, TensorsTravelBetweenDevices) {
  if (cuda_device_count() < 2) GTEST_SKIP() << "one GPU";
  const Device second{DeviceType::kCUDA, 1};
  const Tensor values = counting(1000);
  EXPECT_TRUE(bitwise_equal(values.to(kCuda).to(second).to(kCPU), values));
}

TEST_F(CudaRuntime, RefusesADeviceThatIsNotThere) {
  const Device missing{DeviceType::kCUDA, 63};
  EXPECT_THROW(require_cuda_device(missing), UserError);
  try {
    const Tensor x({1}, DType::kF32, missing);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("device cuda:63: this machine has cuda:0 to"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace osprey
