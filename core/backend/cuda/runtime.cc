#include "core/backend/cuda/runtime.h"

#include <array>
#include <atomic>

#include "core/base/work_context.h"

namespace osprey {
namespace {

constexpr int kMaxDevices = 64;
constexpr int kOldestArchitecture = 8;  // bazel/cuda_library.bzl compiles for sm_80 and newer

// One stream per thread and device, made on first use. They live as long as the process: tensors in static
// storage release their memory to them after any destructor of ours has run.
thread_local std::array<cudaStream_t, kMaxDevices> streams{};
std::atomic<int64_t> synchronizations{0};

cudaStream_t make_stream(Device device) {
  OSPREY_CUDA(cudaSetDevice(device.index));
  cudaStream_t stream = nullptr;
  OSPREY_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

}  // namespace

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // reported here: the check after the next launch must not find it again
  const std::string work = describe_work();
  throw Error(str_cat(call, ": ", cudaGetErrorName(status), ": ", cudaGetErrorString(status),
                      work.empty() ? "" : " (" + work + ")"));
}

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void require_cuda_device(Device device) {
  const int count = cuda_device_count();
  if (device.index < 0 || device.index >= count) {
    throw UserError(count == 0 ? str_cat("device ", device, ": no usable GPU or driver; use --device cpu")
                               : str_cat("device ", device, ": this machine has cuda:0 to cuda:", count - 1));
  }
  int major = 0, minor = 0;
  OSPREY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index));
  OSPREY_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.index));
  if (major < kOldestArchitecture) {
    throw UserError(str_cat("device ", device, ": compute capability ", major, ".", minor,
                            ", this build needs ", kOldestArchitecture, ".0 (Ampere) or higher"));
  }
}

cudaStream_t current_stream(Device device) {
  OSPREY_REQUIRE(device.is_cuda() && device.index >= 0 && device.index < kMaxDevices, "no CUDA stream for ",
                 device);
  cudaStream_t& stream = streams[device.index];
  if (stream == nullptr) {
    stream = make_stream(device);
  } else {
    OSPREY_CUDA(cudaSetDevice(device.index));
  }
  return stream;
}

cudaStream_t current_stream_or_null(Device device) { return streams[device.index]; }

CudaStream::CudaStream(Device device) : device_(device), stream_(make_stream(device)) {}

CudaStream::~CudaStream() {
  // A destructor reports nothing: a failure has been or will be seen by a checked call.
  (void)cudaStreamSynchronize(stream_);
  (void)cudaStreamDestroy(stream_);
}

StreamGuard::StreamGuard(const CudaStream& stream)
    : device_(stream.device()), previous_(current_stream(stream.device())) {
  streams[device_.index] = stream.get();
}

StreamGuard::~StreamGuard() { streams[device_.index] = previous_; }

CudaEvent::CudaEvent(Device device) {
  OSPREY_CUDA(cudaSetDevice(device.index));
  OSPREY_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

CudaEvent::~CudaEvent() { (void)cudaEventDestroy(event_); }

void CudaEvent::record(cudaStream_t stream) { OSPREY_CUDA(cudaEventRecord(event_, stream)); }

void CudaEvent::block(cudaStream_t stream) const { OSPREY_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }

bool CudaEvent::reached() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  OSPREY_CUDA(status);
  return true;
}

void synchronize(Device device) {
  synchronizations.fetch_add(1, std::memory_order_relaxed);
  OSPREY_CUDA(cudaStreamSynchronize(current_stream(device)));
}

int64_t synchronization_count() { return synchronizations.load(std::memory_order_relaxed); }

}  // namespace osprey
