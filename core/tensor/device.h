#pragma once

#include <cstdint>
#include <ostream>

namespace osprey {

enum class DeviceType : uint8_t { kCPU, kCUDA };

struct Device {
  DeviceType type = DeviceType::kCPU;
  int index = 0;

  bool is_cuda() const { return type == DeviceType::kCUDA; }
  bool operator==(const Device&) const = default;
};

inline constexpr Device kCPU{};

inline std::ostream& operator<<(std::ostream& out, Device device) {
  return device.is_cuda() ? out << "cuda:" << device.index : out << "cpu";
}

}  // namespace osprey
