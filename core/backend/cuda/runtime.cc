#include "core/backend/cuda/runtime.h"

#include <array>
#include <atomic>
#include <cstdlib>

#include "core/backend/cuda/architectures.h"
#include "core/base/work_context.h"

namespace osprey {
namespace {

constexpr int kMaxDevices = 64;

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

// Errors of a kernel's execution reach the host with some later, innocent call.
bool is_of_earlier_work(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorIllegalInstruction:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

// " (CUDA_VISIBLE_DEVICES=2,3 hides others)", "" when it is not set.
std::string visibility() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? str_cat(" (CUDA_VISIBLE_DEVICES=", visible, " hides others)") : "";
}

// "13.0" for 13000.
std::string cuda_version(int version) { return str_cat(version / 1000, ".", version % 1000 / 10); }

int attribute(cudaDeviceAttr which, Device device) {
  int value = 0;
  OSPREY_CUDA(cudaDeviceGetAttribute(&value, which, device.index));
  return value;
}

}  // namespace

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // reported here: the check after the next launch must not find it again
  const std::string work = describe_work();
  throw Error(str_cat(call, ": ", cudaGetErrorName(status), ": ", cudaGetErrorString(status),
                      work.empty() ? "" : " (" + work + ")",
                      is_of_earlier_work(status) ? hint_at_earlier_work() : ""));
}

std::string hint_at_earlier_work() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && std::string(blocking) == "1") return "";
  return "; this is where it was noticed, a kernel launched earlier may have failed: run again with "
         "CUDA_LAUNCH_BLOCKING=1 in the environment to see which";
}

void forget_refusal(Device device, const char* call) {
  const cudaError_t state = cudaStreamQuery(current_stream(device));
  (void)cudaGetLastError();
  if (is_of_earlier_work(state)) check_cuda(state, call);
}

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  (void)cudaGetLastError();
  return 0;
}

std::string cuda_problem() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return "";
  (void)cudaGetLastError();
  int driver = 0, runtime = 0;
  OSPREY_CUDA(cudaDriverGetVersion(&driver));  // 0 without a driver
  OSPREY_CUDA(cudaRuntimeGetVersion(&runtime));
  if (driver == 0) return "no NVIDIA driver is installed";
  if (status == cudaErrorInsufficientDriver) {
    return str_cat("the NVIDIA driver is too old: it supports CUDA ", cuda_version(driver),
                   ", this build needs ", cuda_version(runtime),
                   "; update the driver, or build with an older toolkit (CUDA_HOME)");
  }
  if (status == cudaSuccess || status == cudaErrorNoDevice) {
    return str_cat("the NVIDIA driver shows no GPU", visibility());
  }
  return str_cat("the NVIDIA driver does not work: ", cudaGetErrorName(status), ": ",
                 cudaGetErrorString(status));
}

void require_cuda_device(Device device) {
  const int count = cuda_device_count();
  if (count == 0)
    throw UserError(str_cat("device ", device, ": ", cuda_problem(), "; --device cpu works everywhere"));
  if (device.index < 0 || device.index >= count) {
    throw UserError(str_cat("device ", device, ": this machine has ",
                            count == 1 ? std::string("cuda:0 alone") : str_cat("cuda:0 to cuda:", count - 1),
                            visibility()));
  }
  const int major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  const int minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
  if (!kernels_run_on(major, minor)) {
    throw UserError(str_cat("device ", device, ": compute capability ", major, ".", minor,
                            ", but this build's kernels are for ", describe_architectures(),
                            "; build for it with OSPREY_CUDA_ARCHS=sm_", major, minor));
  }
  if (attribute(cudaDevAttrMemoryPoolsSupported, device) == 0) {
    throw UserError(
        str_cat("device ", device,
                ": no memory pools here (cudaDevAttrMemoryPoolsSupported), which all memory comes from; "
                "a virtual GPU may be set up without them"));
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

// A thread that only ever works under guards gets no stream of its own.
StreamGuard::StreamGuard(const CudaStream& stream)
    : device_(stream.device()), previous_(current_stream_or_null(stream.device())) {
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
  if (status == cudaErrorNotReady) {
    (void)cudaGetLastError();  // no error, yet the check after the next launch would find it
    return false;
  }
  OSPREY_CUDA(status);
  return true;
}

void synchronize(Device device) {
  synchronizations.fetch_add(1, std::memory_order_relaxed);
  OSPREY_CUDA(cudaStreamSynchronize(current_stream(device)));
}

int64_t synchronization_count() { return synchronizations.load(std::memory_order_relaxed); }

}  // namespace osprey
