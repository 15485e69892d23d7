#pragma once

#include <memory>
#include <string>

#include "core/parallel/communicator.h"

namespace osprey {

// Collectives between the memories of devices, as work of the calling thread's stream: the host does not
// wait. One object for a device, made by all ranks together.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  virtual void all_reduce(Tensor& tensor) = 0;  // sum in place; f32, i32, i64
  virtual void broadcast(Tensor& tensor, int root) = 0;
};

// How a device type does that; a build without it goes through host memory.
struct DeviceCollectivesMaker {
  // Names the hardware within its machine: two ranks on the same one cannot use it.
  std::string (*identity)(Device device);
  // Collective over `host`, whose ranks agree over it.
  std::unique_ptr<DeviceCollectives> (*make)(Device device, Communicator& host);
};
// Null for the CPU and for builds without.
const DeviceCollectivesMaker* device_collectives_maker(DeviceType type);
bool register_device_collectives(DeviceType type, const DeviceCollectivesMaker& maker);

}  // namespace osprey
