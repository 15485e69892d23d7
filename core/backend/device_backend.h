#pragma once

#include <memory>
#include <string>

#include "core/tensor/tensor.h"

// What a device beyond the CPU offers to code that knows no backend: tools, the loader, benchmarks. A backend
// that is linked in registers itself.
namespace osprey {

// Copies host tensors to a device beside the device's other work, for whoever prepares the next batch while
// the current one is worked on.
class Uploader {
 public:
  struct Upload {
    Tensor tensor;                        // on the device; only for finish()
    std::shared_ptr<const void> arrival;  // the point in the uploader's work where it has arrived
  };
  virtual ~Uploader() = default;
  // Starts the copy and returns as soon as `host` may change. One thread at a time.
  virtual Upload start(const Tensor& host) = 0;
  // The tensor for the calling thread's later work, which starts after the copy; the host does not wait. The
  // thread that lets go of the tensor must be the one that queued its last use.
  virtual Tensor finish(Upload upload) = 0;
};

// A point in the calling thread's work on a device.
class TimeMark {
 public:
  virtual ~TimeMark() = default;
  // Seconds of the device's time from `earlier`, a mark of the same backend, to this one; waits for both.
  virtual double seconds_since(const TimeMark& earlier) const = 0;
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;

  // Why device_count() is 0, e.g. "no NVIDIA driver is installed"; "" when it is not.
  virtual std::string problem() const = 0;
  // Throws UserError unless the device exists and can run the kernels of this build.
  virtual void require(Device device) const = 0;
  // "NVIDIA H200, compute capability 9.0, 139.8 GiB".
  virtual std::string describe(Device device) const = 0;
  // Of driver and libraries, "CUDA 13.0, driver for CUDA 13.0, cuDNN 9.19.0".
  virtual std::string versions() const = 0;

  // The host waits for the calling thread's work.
  virtual void synchronize(Device device) const = 0;
  virtual std::unique_ptr<TimeMark> mark_time(Device device) const = 0;
  // Most that tensors and workspaces held at once, in bytes.
  virtual int64_t peak_bytes(Device device) const = 0;
  virtual std::unique_ptr<Uploader> make_uploader(Device device) const = 0;
};

// Null for the CPU and for what this build has no backend for.
const DeviceBackend* device_backend(DeviceType type);
bool register_device_backend(DeviceType type, const DeviceBackend& backend);

}  // namespace osprey
