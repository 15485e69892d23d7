#include "core/backend/device_backend.h"

namespace osprey {
namespace {

constinit const DeviceBackend* backends[2] = {nullptr, nullptr};

}  // namespace

const DeviceBackend* device_backend(DeviceType type) { return backends[static_cast<int>(type)]; }

bool register_device_backend(DeviceType type, const DeviceBackend& backend) {
  backends[static_cast<int>(type)] = &backend;
  return true;
}

}  // namespace osprey
