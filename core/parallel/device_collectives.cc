#include "core/parallel/device_collectives.h"

namespace osprey {
namespace {

constinit const DeviceCollectivesMaker* makers[2] = {nullptr, nullptr};

}  // namespace

const DeviceCollectivesMaker* device_collectives_maker(DeviceType type) {
  return makers[static_cast<int>(type)];
}

bool register_device_collectives(DeviceType type, const DeviceCollectivesMaker& maker) {
  makers[static_cast<int>(type)] = &maker;
  return true;
}

}  // namespace osprey
