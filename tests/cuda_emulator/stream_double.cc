#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>

#include "core/base/strings.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/runtime_state.h"

// Streams and events of the runtime's double.
namespace osprey::emulator {

Handles<Stream>& streams() {
  static auto& handles = *new Handles<Stream>;
  return handles;
}
Handles<Event>& events() {
  static auto& handles = *new Handles<Event>;
  return handles;
}

Stream& stream_of(cudaStream_t handle, const char* call) {
  if (handle == nullptr)
    fail(str_cat(call, ": the default stream synchronises with everything; ops must not use it"));
  Stream* stream = streams().find(handle);
  if (stream == nullptr) fail(str_cat(call, ": stream ", handle, " was destroyed or never made"));
  if (stream->device != current_device()) {
    fail(str_cat(call, ": a stream of device ", stream->device, " while device ", current_device(),
                 " is the thread's current one"));
  }
  return *stream;
}

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace
}  // namespace osprey::emulator

using namespace osprey::emulator;
using osprey::str_cat;

#define LOCK const std::lock_guard lock(driver_mutex())

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  LOCK;
  // A blocking stream would wait for the default stream.
  if (flags != cudaStreamNonBlocking) return report(cudaErrorInvalidValue);
  *stream = reinterpret_cast<cudaStream_t>(streams().make({current_device(), {}}));
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  LOCK;
  Stream* found = streams().find(stream);
  if (found == nullptr) return report(cudaErrorInvalidResourceHandle);
  drain(*found);  // the documentation: its resources go once its work is complete
  streams().destroy(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  LOCK;
  Stream* found = streams().find(stream);
  if (found == nullptr) return report(cudaErrorInvalidResourceHandle);
  ++counts().waits;
  drain(*found);
  return report(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  LOCK;
  const Stream* found = streams().find(stream);
  if (found == nullptr) return report(cudaErrorInvalidResourceHandle);
  return report(found->queue.empty() ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  LOCK;
  const bool timing = (flags & cudaEventDisableTiming) == 0;
  *event = reinterpret_cast<cudaEvent_t>(events().make({current_device(), timing}));
  return cudaSuccess;
}

// The event's object stays: queued work may refer to it, and its handle then reads as destroyed.
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  LOCK;
  Event* found = events().find(event);
  if (found == nullptr || found->device < 0) return report(cudaErrorInvalidResourceHandle);
  found->device = -1;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  LOCK;
  Event* found = events().find(event);
  Stream* on = streams().find(stream);
  if (found == nullptr || on == nullptr || found->device != on->device) {
    return report(cudaErrorInvalidResourceHandle);
  }
  found->stream = on;
  const uint64_t record = ++found->recorded;
  enqueue(*on, "cudaEventRecord", [found, record] {
    found->reached = std::max(found->reached, record);
    found->seconds = now();
  });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  LOCK;
  Event* found = events().find(event);
  Stream* waiting = streams().find(stream);
  if (found == nullptr || found->device < 0 || waiting == nullptr)
    return report(cudaErrorInvalidResourceHandle);
  if (flags != 0) return report(cudaErrorInvalidValue);
  if (found->recorded > found->reached) {
    enqueue(*waiting, "cudaStreamWaitEvent",
            [found, record = found->recorded] { drain_until(*found, record); });
  }
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  LOCK;
  Event* found = events().find(event);
  if (found == nullptr || found->device < 0) return report(cudaErrorInvalidResourceHandle);
  return report(found->reached == found->recorded ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  LOCK;
  Event* found = events().find(event);
  if (found == nullptr || found->device < 0) return report(cudaErrorInvalidResourceHandle);
  ++counts().waits;
  drain_until(*found, found->recorded);
  return report(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  LOCK;
  const Event *from = events().find(start), *to = events().find(end);
  for (const Event* event : {from, to}) {
    if (event == nullptr || event->device < 0 || !event->timing || event->recorded == 0) {
      return report(cudaErrorInvalidResourceHandle);
    }
    if (event->reached != event->recorded) return report(cudaErrorNotReady);
  }
  *milliseconds = static_cast<float>(1e3 * (to->seconds - from->seconds));
  return cudaSuccess;
}
