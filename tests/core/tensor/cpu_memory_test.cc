#include "core/tensor/cpu_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "core/tensor/tensor.h"

namespace osprey {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(CpuMemory, IsAligned) {
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{4096}, size_t{64 << 10}, kMiB + 1, 5 * kMiB + 3}) {
    void* data = allocate_cpu_memory(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    std::memset(data, 1, bytes);  // the whole block is ours
    release_cpu_memory(data, bytes);
  }
}

TEST(CpuMemory, HandsTheLastBlockOutAgain) {
  void* first = allocate_cpu_memory(3 * kMiB);
  release_cpu_memory(first, 3 * kMiB);
  EXPECT_GE(cached_cpu_memory(), 3 * kMiB);
  void* second = allocate_cpu_memory(3 * kMiB - 100);  // nearly the same size shares the block
  EXPECT_EQ(second, first);
  release_cpu_memory(second, 3 * kMiB - 100);
}

// Changing sizes (multi-scale training) must not pile up blocks of sizes that never come again.
TEST(CpuMemory, KeepsABoundedReserve) {
  const size_t peak = 400 * kMiB;
  for (size_t step = 0; step < 40; ++step) {
    const size_t bytes = peak / 4 + step * 7 * kMiB / 2;  // untouched: no page is ever committed
    std::vector<void*> blocks;
    for (size_t held = 0; held + bytes <= peak; held += bytes) blocks.push_back(allocate_cpu_memory(bytes));
    for (void* block : blocks) release_cpu_memory(block, bytes);
  }
  EXPECT_LE(cached_cpu_memory(), peak * 5 / 4 * 9 / 8 + 256 * kMiB);  // a size class wastes up to an eighth
}

TEST(CpuMemory, ThreadsMayReleaseEachOthersBlocks) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (size_t i = 1; i < 200; ++i) {
        const size_t bytes = (i * 37 + static_cast<size_t>(t)) % 40 * (64 << 10) + 64;
        char* data = static_cast<char*>(allocate_cpu_memory(bytes));
        data[0] = data[bytes - 1] = 1;
        std::thread([=] { release_cpu_memory(data, bytes); }).join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CpuMemory, CountsLiveAndPeakBytes) {
  const int64_t before = memory_stats(DeviceType::kCPU).live_bytes;
  reset_peak_memory(DeviceType::kCPU);
  {
    const Tensor a({1000}, DType::kF32);
    EXPECT_EQ(memory_stats(DeviceType::kCPU).live_bytes, before + 4000);
  }
  EXPECT_EQ(memory_stats(DeviceType::kCPU).live_bytes, before);
  EXPECT_EQ(memory_stats(DeviceType::kCPU).peak_bytes, before + 4000);
}

TEST(CpuMemory, AnImpossibleRequestIsAnError) {
  try {
    const Tensor huge({int64_t{1} << 48}, DType::kF32);
    FAIL() << "a petabyte was allocated";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "out of memory: cannot allocate 1125899906842624 bytes on the CPU");
  }
}

}  // namespace
}  // namespace osprey
