#include <gtest/gtest.h>

#include <cmath>

#include "core/backend/cuda/memory.h"
#include "core/backend/cuda/uploader.h"
#include "core/ops/reduce.h"
#include "tests/cuda_emulator/emulator.h"

// Mistakes in handing memory from one stream to another, planted one by one. Only in the emulated build.
namespace osprey {
namespace {

constexpr Device kCuda{DeviceType::kCUDA, 0};

class UploadFaults : public ::testing::Test {
 protected:
  UploadFaults() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  const Tensor host_ = Tensor::full({1024}, 3, DType::kF32);
  CudaUploader uploader_{kCuda};
};

TEST_F(UploadFaults, NoneMeansTheNumbers) {
  const Tensor x = uploader_.finish(uploader_.start(host_));
  EXPECT_EQ(mean(Variable(x)).value().item(), 3);
}

TEST_F(UploadFaults, UseWithoutWaitingForTheArrival) {
  const Tensor x = uploader_.start(host_).tensor;  // instead of finish()
  EXPECT_DEATH((void)mean(Variable(x)).value().item(),
               "touched .* block of 4096 bytes .*whose allocation is still queued");
}

// The memory is there already, its content is not.
TEST_F(UploadFaults, UseBetweenAllocationAndArrival) {
  Tensor x;
  {
    const StreamGuard guard(uploader_.stream());
    x = Tensor({1024}, DType::kF32, kCuda);
    synchronize(kCuda);
    x.copy_from(host_);
  }
  EXPECT_TRUE(std::isnan(mean(Variable(x)).value().item())) << "the copy is on its way, and the test sees it";
  CudaEvent arrived(kCuda);
  arrived.record(uploader_.stream().get());
  arrived.block(current_stream(kCuda));
  EXPECT_EQ(mean(Variable(x)).value().item(), 3);
}

// Released on the stream that owns it, not after the work of the one that used it.
TEST_F(UploadFaults, ReuseBeforeTheLastUse) {
  void* data = nullptr;
  {
    const StreamGuard guard(uploader_.stream());
    data = allocate_cuda_memory(64, kCuda);
    synchronize(kCuda);
  }
  EXPECT_DEATH(
      {
        OSPREY_CUDA(cudaMemsetAsync(data, 0, 64, current_stream(kCuda)));
        OSPREY_CUDA(cudaFreeAsync(data, uploader_.stream().get()));
        OSPREY_CUDA(cudaStreamSynchronize(uploader_.stream().get()));
        synchronize(kCuda);
      },
      "cudaMemsetAsync touched .*released block of 64 bytes");
  {
    OSPREY_CUDA(cudaMemsetAsync(data, 0, 64, current_stream(kCuda)));
    release_cuda_memory(data, 64, kCuda);  // waits for this thread's stream on the other's
    OSPREY_CUDA(cudaStreamSynchronize(uploader_.stream().get()));
    synchronize(kCuda);
  }
}

TEST_F(UploadFaults, TheUploadDoesNotRunBeforeSomebodyWaitsForIt) {
  const int64_t waits = emulator::counts().waits;
  const Uploader::Upload upload = uploader_.start(host_);
  EXPECT_FALSE(static_cast<const CudaEvent*>(upload.arrival.get())->reached());
  EXPECT_EQ(emulator::counts().waits, waits);
  EXPECT_EQ(uploader_.finish(upload).item_at(1023), 3);
}

// Work on one device's memory that another device's stream must wait for, and the other way round.
TEST_F(UploadFaults, CopiesBetweenDevicesWaitForBothSides) {
  const Device second{DeviceType::kCUDA, 1};
  Tensor x = Tensor::full({1024}, 1, DType::kF32, kCuda);
  const Tensor copy = x.to(second);  // nothing has run yet: the copy must draw in the fill,
  x.fill(2);                         // and be drawn in by what overwrites its source
  synchronize(kCuda);
  EXPECT_EQ(copy.item_at(1023), 1);
}

// Memory that another stream has released is there once that stream has come so far.
TEST_F(UploadFaults, MemoryThatIsOnItsWayBackIsWaitedFor) {
  synchronize(kCuda);
  OSPREY_CUDA(cudaDeviceSynchronize());
  size_t free = 0, total = 0;
  OSPREY_CUDA(cudaMemGetInfo(&free, &total));
  emulator::machine().memory_bytes = total - free + (4 << 20);
  {
    const StreamGuard guard(uploader_.stream());
    const Tensor large({3 << 20}, DType::kU8, kCuda);
  }
  EXPECT_EQ(Tensor::zeros({3 << 18}, DType::kF32, kCuda).item_at(5), 0);
  emulator::machine() = {};
}

}  // namespace
}  // namespace osprey
