#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

// Streams that do nothing until somebody waits for them: then their queue runs on the host, in order, up to
// the point that was waited for, and with it no more of other streams than events demand. What a program
// forgot to wait for has therefore not happened yet, every time.
namespace osprey::emulator {

struct Event;

struct Task {
  const char* name;
  std::function<void()> run;
};

struct Stream {
  int device;
  std::deque<Task> queue;
};

struct Event {
  int device;
  bool timing;
  Stream* stream = nullptr;            // of the last record
  uint64_t recorded = 0, reached = 0;  // counts of records
  double seconds = 0;                  // host time when it was last reached
};

// One lock around the whole emulated driver.
std::recursive_mutex& driver_mutex();

// The stream behind a handle. Fails for the default stream (ops must not use it), for one that was destroyed,
// and for one of another device than the thread's current one.
Stream& stream_of(cudaStream_t handle, const char* call);

void enqueue(Stream& stream, const char* name, std::function<void()> run);
void drain(Stream& stream);
void drain_until(Event& event, uint64_t record);

int current_device();

// Checks that `bytes` at `data` lie within one live block of device memory on the stream's device; fails
// naming the call and the argument otherwise. Null is allowed for no bytes.
void require_device_memory(const void* data, size_t bytes, const Stream& stream, const char* call,
                           const char* argument);

}  // namespace osprey::emulator
