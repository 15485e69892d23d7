#include <cudnn.h>

#include <cstdio>

#include "core/backend/cuda/memory.h"
#include "core/backend/cuda/runtime.h"
#include "core/backend/cuda/uploader.h"
#include "core/backend/device_backend.h"

// The CUDA backend as code that knows none sees it.
namespace osprey {
namespace {

std::string version(int value, int major, int minor, int patch) {
  return str_cat(value / major, ".", value / minor % (major / minor),
                 patch ? str_cat(".", value % minor) : "");
}

class CudaTimeMark final : public TimeMark {
 public:
  explicit CudaTimeMark(Device device) {
    const cudaStream_t stream = current_stream(device);
    OSPREY_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDefault));
    OSPREY_CUDA(cudaEventRecord(event_, stream));
  }
  ~CudaTimeMark() override { (void)cudaEventDestroy(event_); }
  CudaTimeMark(const CudaTimeMark&) = delete;
  CudaTimeMark& operator=(const CudaTimeMark&) = delete;

  double seconds_since(const TimeMark& earlier) const override {
    OSPREY_CUDA(cudaEventSynchronize(event_));
    float milliseconds = 0;
    OSPREY_CUDA(
        cudaEventElapsedTime(&milliseconds, static_cast<const CudaTimeMark&>(earlier).event_, event_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaBackend final : public DeviceBackend {
 public:
  std::string problem() const override { return cuda_problem(); }
  void require(Device device) const override { require_cuda_device(device); }

  std::string describe(Device device) const override {
    cudaDeviceProp properties{};
    OSPREY_CUDA(cudaGetDeviceProperties(&properties, device.index));
    char memory[32];
    std::snprintf(memory, sizeof memory, "%.1f GiB",
                  static_cast<double>(properties.totalGlobalMem) / static_cast<double>(1 << 30));
    return str_cat(properties.name, ", compute capability ", properties.major, ".", properties.minor, ", ",
                   memory);
  }

  std::string versions() const override {
    int driver = 0, runtime = 0;
    OSPREY_CUDA(cudaDriverGetVersion(&driver));
    OSPREY_CUDA(cudaRuntimeGetVersion(&runtime));
    return str_cat("CUDA ", version(runtime, 1000, 10, false), ", driver for CUDA ",
                   version(driver, 1000, 10, false), ", cuDNN ",
                   version(static_cast<int>(cudnnGetVersion()), 10000, 100, true));
  }

  void synchronize(Device device) const override { osprey::synchronize(device); }
  std::unique_ptr<TimeMark> mark_time(Device device) const override {
    return std::make_unique<CudaTimeMark>(device);
  }
  int64_t peak_bytes(Device device) const override { return cuda_memory_stats(device).peak; }
  std::unique_ptr<Uploader> make_uploader(Device device) const override {
    return std::make_unique<CudaUploader>(device);
  }
};

const CudaBackend cuda_backend;
[[maybe_unused]] const bool registered = register_device_backend(DeviceType::kCUDA, cuda_backend);

}  // namespace
}  // namespace osprey
