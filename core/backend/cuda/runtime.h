#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "core/tensor/tensor.h"

namespace osprey {

// Throws Error "call: status text (op in module)" when a runtime call failed. A kernel that failed while it
// ran is reported by whatever call comes next; the message then says how to find it.
void check_cuda(cudaError_t status, const char* call);
// What messages add where a failure may be that of a kernel launched earlier; "" with CUDA_LAUNCH_BLOCKING=1.
std::string hint_at_earlier_work();
// After a library's call was refused: throws when work that ran before has broken the device, and otherwise
// forgets what the call left for the check of the next launch.
void forget_refusal(Device device, const char* call);
#define OSPREY_CUDA(call) ::osprey::check_cuda((call), #call)

// Number of GPUs that the driver shows; 0 without a driver.
int cuda_device_count();
// Why there are none: "no NVIDIA driver is installed", "the driver is too old ...", CUDA_VISIBLE_DEVICES; ""
// when there are some.
std::string cuda_problem();
// Throws UserError unless the device exists and can run this build: its kernels (architectures.h) and memory
// pools.
void require_cuda_device(Device device);

// The stream that this thread's work for `device` goes to; a thread gets one of its own on first use. Also
// makes `device` the thread's current one, as launches and library handles demand.
cudaStream_t current_stream(Device device);
// The same without making or selecting anything: null when the thread has none yet.
cudaStream_t current_stream_or_null(Device device);

// A stream of its own, e.g. for uploads. Waits for its work before it dies.
class CudaStream {
 public:
  explicit CudaStream(Device device);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  Device device() const { return device_; }
  cudaStream_t get() const { return stream_; }

 private:
  Device device_;
  cudaStream_t stream_ = nullptr;
};

// While one lives, this thread's work for the stream's device goes to that stream. Tensors that are made
// meanwhile belong to it: they must not be released before other streams are done with them.
class StreamGuard {
 public:
  explicit StreamGuard(const CudaStream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Device device_;
  cudaStream_t previous_;
};

// A point in a stream's work.
class CudaEvent {
 public:
  explicit CudaEvent(Device device);
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(cudaStream_t stream);
  // `stream` starts nothing new before the recorded point is reached; the host does not wait.
  void block(cudaStream_t stream) const;
  bool reached() const;

 private:
  cudaEvent_t event_ = nullptr;
};

// The host waits for this thread's work on `device`. Every wait of the host goes through here, so that they
// can be counted: docs/cuda.md lists them with their reasons.
void synchronize(Device device);
int64_t synchronization_count();

}  // namespace osprey
