#include "tests/cuda_emulator/streams.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/backend/cuda/emulated_launch.h"
#include "core/base/parallel.h"
#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/handles.h"

namespace osprey::emulator {
namespace {

// Ordinary memory of this process at that address?
bool is_host_memory(uint64_t address) {
  unsigned char resident = 0;
  return address >= 4096 && mincore(reinterpret_cast<void*>(address & ~uint64_t{4095}), 1, &resident) == 0;
}

// A kernel's arguments travel as bytes. Every word that could be an address must be one that the device may
// use.
void check_arguments(const EmulatedKernel& kernel, const Stream& stream) {
  const char* bytes = static_cast<const char*>(kernel.arguments);
  for (size_t offset = 0; offset + 8 <= kernel.argument_bytes; offset += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + offset, 8);
    const void* address = reinterpret_cast<const void*>(word);
    if (Arena::get().contains(address)) {
      require_device_memory(address, 0, stream, kernel.name, "an argument");
    } else if (!is_pinned(address) && is_host_memory(word)) {
      fail(str_cat(kernel.name, ": argument byte ", offset, " is the host pointer ", address));
    }
  }
}

class Running {
 public:
  explicit Running(const char* name) : previous_(running_task) { running_task = name; }
  ~Running() { running_task = previous_; }

 private:
  const char* previous_;
};

void run_front(Stream& stream) {
  const Task task = std::move(stream.queue.front());
  stream.queue.pop_front();
  const Running running(task.name);
  task.run();
}

// A kernel's threads, side by side where they may be; with an order that a test asks for, one by one in it.
void run_threads(int64_t threads, bool adds_up, uint64_t order,
                 const std::function<void(int64_t, int64_t)>& body) {
  if (order == 0) {
    if (adds_up) return body(0, threads);
    return parallel_ranges(threads, 1024, body);
  }
  std::vector<int64_t> turns(static_cast<size_t>(threads));
  std::iota(turns.begin(), turns.end(), 0);
  std::shuffle(turns.begin(), turns.end(), std::mt19937_64(order));
  for (const int64_t thread : turns) body(thread, thread + 1);
}

}  // namespace

Machine& machine() {
  static Machine machine;
  return machine;
}

Counts& counts() {
  static Counts counts;
  return counts;
}

std::recursive_mutex& driver_mutex() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return mutex;
}

void enqueue(Stream& stream, const char* name, std::function<void()> run) {
  stream.queue.push_back({name, std::move(run)});
}

void drain(Stream& stream) {
  if (stream.queue.empty()) return;
  const ArenaOpen open;
  while (!stream.queue.empty()) run_front(stream);
}

void drain_until(Event& event, uint64_t record) {
  if (event.reached >= record) return;
  const ArenaOpen open;
  while (event.reached < record) {
    if (event.stream->queue.empty()) fail("an event waits for work that its stream does not have");
    run_front(*event.stream);
  }
}

void require_device_memory(const void* data, size_t bytes, const Stream& stream, const char* call,
                           const char* argument) {
  if (data == nullptr && bytes == 0) return;
  const Block* block = Arena::get().contains(data) ? Arena::get().find(data) : nullptr;
  if (block == nullptr) {
    fail(str_cat(call, ": ", argument, " = ", data, " is not device memory",
                 data && is_host_memory(reinterpret_cast<uint64_t>(data)) ? " but the host's" : ""));
  }
  if (block->state != Block::State::kLive) {
    fail(str_cat(call, ": ", argument, " = ", data, " is in a ", block->describe()));
  }
  if (static_cast<const char*>(data) + bytes > block->data + block->bytes) {
    fail(str_cat(call, ": ", argument, " = ", data, " needs ", bytes, " bytes, more than its ",
                 block->describe()));
  }
  if (block->device != stream.device) {
    fail(str_cat(call, ": ", argument, " = ", data, " belongs to another device than stream ", stream.device,
                 ": ", block->describe()));
  }
}

}  // namespace osprey::emulator

namespace osprey {

void emulated_launch(cudaStream_t handle, const EmulatedKernel& kernel, int64_t threads,
                     std::function<void(int64_t, int64_t)> body) {
  using namespace emulator;
  const std::lock_guard lock(driver_mutex());
  Stream& stream = stream_of(handle, kernel.name);
  check_arguments(kernel, stream);
  ++counts().launches;
  const cudaError_t end = std::exchange(machine().next_launch_fails, cudaSuccess);
  enqueue(stream, kernel.name,
          [threads, adds_up = kernel.adds_up, order = machine().thread_order, body = std::move(body), end] {
            if (end != cudaSuccess) machine().broken = end;
            if (machine().broken == cudaSuccess) run_threads(threads, adds_up, order, body);
          });
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && *blocking == '1') drain(stream);
}

}  // namespace osprey
