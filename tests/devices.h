#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/tensor/storage.h"

namespace osprey::testing {

// The CPU and, in a CUDA (or emulated) build, cuda:0 when there is one. For INSTANTIATE_TEST_SUITE_P and
// loops.
inline std::vector<Device> devices_in_build() {
  std::vector<Device> devices{kCPU};
  if (device_count(DeviceType::kCUDA) > 0) devices.push_back({DeviceType::kCUDA, 0});
  return devices;
}

// A name for a parametrised test: "cpu", "cuda".
inline std::string device_name(Device device) { return device.is_cuda() ? "cuda" : "cpu"; }

}  // namespace osprey::testing
