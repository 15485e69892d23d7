#include "core/backend/cuda/memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/backend/cuda/runtime.h"
#include "core/base/work_context.h"

namespace osprey {
namespace {

// "4.8 KiB", "64.0 MiB", "1.50 GiB".
std::string readable(int64_t bytes) {
  char text[32];
  const double kib = static_cast<double>(bytes) / (1 << 10), mib = kib / 1024;
  std::snprintf(text, sizeof text,
                kib < 1024   ? "%.1f KiB"
                : mib < 1024 ? "%.1f MiB"
                             : "%.2f GiB",
                kib < 1024   ? kib
                : mib < 1024 ? mib
                             : mib / 1024);
  return text;
}

// OSPREY_CUDA_POISON=1: every byte of fresh memory is 0xFF, a NaN in each floating dtype, so that the result
// of a kernel that reads what nobody wrote shows it.
bool poisons_fresh_memory() {
  static const bool poisons = [] {
    const char* value = std::getenv("OSPREY_CUDA_POISON");
    return value != nullptr && std::string(value) != "" && std::string(value) != "0";
  }();
  return poisons;
}

// One device's pool and the blocks that are out.
class Pool {
 public:
  explicit Pool(Device device) : device_(device) {
    require_cuda_device(device);
    OSPREY_CUDA(cudaDeviceGetDefaultMemPool(&pool_, device.index));
    // By default the driver gives unused memory back at every synchronisation.
    uint64_t keep_all = std::numeric_limits<uint64_t>::max();
    OSPREY_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all));
  }

  void* take(size_t bytes) {
    const cudaStream_t stream = current_stream(device_);
    void* data = nullptr;
    cudaError_t status = cudaMallocAsync(&data, bytes, stream);
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();  // the failure is handled: later checks must not see it
      give_back(stream);
      status = cudaMallocAsync(&data, bytes, stream);
    }
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw OutOfMemory(explain(bytes));
    }
    check_cuda(status, "cudaMallocAsync");
    if (poisons_fresh_memory()) OSPREY_CUDA(cudaMemsetAsync(data, 0xFF, bytes, stream));
    note(data, {static_cast<int64_t>(bytes), stream, owner()});
    return data;
  }

  void release(void* data) {
    Block block{};
    {
      const std::lock_guard lock(mutex_);
      const auto found = blocks_.find(data);
      if (found == blocks_.end()) return;
      block = found->second;
      blocks_.erase(found);
      in_use_ -= block.bytes;
    }
    // Runs in destructors: a failure here (a context that is gone at exit) must not throw.
    const cudaStream_t here = current_stream_or_null(device_);
    if (here != nullptr && here != block.stream) wait_for(here, block.stream);
    (void)cudaFreeAsync(data, block.stream);
  }

  CudaMemoryStats stats() {
    uint64_t reserved = 0;
    OSPREY_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
    const std::lock_guard lock(mutex_);
    return {in_use_, peak_, static_cast<int64_t>(reserved)};
  }

 private:
  struct Block {
    int64_t bytes;
    cudaStream_t stream;
    std::string owner;  // module path
  };

  static std::string owner() {
    const std::string* path = work_context().module_path;
    return path && !path->empty() ? *path : "(no module)";
  }

  // The releasing thread's queued work may still use a block of another stream.
  void wait_for(cudaStream_t user, cudaStream_t owner) {
    cudaEvent_t used = nullptr;
    if (cudaSetDevice(device_.index) != cudaSuccess ||
        cudaEventCreateWithFlags(&used, cudaEventDisableTiming) != cudaSuccess) {
      return;
    }
    (void)cudaEventRecord(used, user);
    (void)cudaStreamWaitEvent(owner, used, 0);
    (void)cudaEventDestroy(used);
  }

  void note(void* data, Block block) {
    const std::lock_guard lock(mutex_);
    in_use_ += block.bytes;
    peak_ = std::max(peak_, in_use_);
    blocks_.emplace(data, std::move(block));
  }

  // Blocks that other streams released become usable when their work is through.
  void give_back(cudaStream_t stream) {
    OSPREY_CUDA(cudaStreamSynchronize(stream));
    OSPREY_CUDA(cudaDeviceSynchronize());
    OSPREY_CUDA(cudaMemPoolTrimTo(pool_, 0));
  }

  std::string explain(size_t bytes) {
    size_t free = 0, total = 0;
    OSPREY_CUDA(cudaMemGetInfo(&free, &total));
    const std::lock_guard lock(mutex_);
    struct Holding {
      int64_t bytes = 0, blocks = 0;
    };
    std::map<std::string, Holding> by_owner;
    for (const auto& [data, block] : blocks_) {
      Holding& holding = by_owner[block.owner];
      holding.bytes += block.bytes;
      ++holding.blocks;
    }
    std::vector<std::pair<std::string, Holding>> largest(by_owner.begin(), by_owner.end());
    std::sort(largest.begin(), largest.end(),
              [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
    if (largest.size() > 5) largest.resize(5);
    std::vector<std::string> named;
    for (const auto& [name, holding] : largest) {
      named.push_back(str_cat(name, " ", readable(holding.bytes), " in ", holding.blocks,
                              holding.blocks == 1 ? " block" : " blocks"));
    }
    const std::string work = describe_work();
    return str_cat("out of memory on ", device_, ": ", readable(static_cast<int64_t>(bytes)), " wanted",
                   work.empty() ? "" : " by " + work, ", ", readable(static_cast<int64_t>(free)), " of ",
                   readable(static_cast<int64_t>(total)), " free, ", readable(in_use_),
                   " in use by this process", named.empty() ? "" : "; largest: " + join(named));
  }

  Device device_;
  cudaMemPool_t pool_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
  int64_t in_use_ = 0, peak_ = 0;
};

// Never destroyed: tensors in static storage may be released after it would be.
Pool& pool_of(Device device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<int, std::unique_ptr<Pool>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Pool>& pool = pools[device.index];
  if (!pool) pool = std::make_unique<Pool>(device);
  return *pool;
}

[[maybe_unused]] const bool registered = [] {
  register_allocator(DeviceType::kCUDA, {allocate_cuda_memory, release_cuda_memory, cuda_device_count});
  return true;
}();

}  // namespace

void* allocate_cuda_memory(size_t bytes, Device device) { return pool_of(device).take(bytes); }

void release_cuda_memory(void* data, size_t, Device device) { pool_of(device).release(data); }

CudaMemoryStats cuda_memory_stats(Device device) { return pool_of(device).stats(); }

}  // namespace osprey
