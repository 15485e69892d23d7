#pragma once

#include "core/base/error.h"
#include "core/base/work_context.h"
#include "core/tensor/device.h"

namespace osprey {

template <typename Signature>
class DeviceKernel;

// One entry per device type for a kernel: `roi_align_cpu.cc` and `roi_align.cu` each put their function in,
// the op calls the one of its input's device. So a backend is chosen by linking its files, without macros or
// #ifdefs. Constant-initialised: registration from other files' static initialisers is safe in any order.
template <typename... Args>
class DeviceKernel<void(Args...)> {
 public:
  using Function = void (*)(Args...);

  constexpr explicit DeviceKernel(const char* name) : name_(name) {}

  void operator()(Device device, Args... args) const {
    const OpScope scope(name_);
    get(device.type)(args...);
  }

  Function get(DeviceType type) const {
    const Function function = functions_[static_cast<int>(type)];
    OSPREY_REQUIRE(function, name_, ": this build has no kernel for ", Device{type});
    return function;
  }

  bool set(DeviceType type, Function function) {
    functions_[static_cast<int>(type)] = function;
    return true;
  }

 private:
  const char* name_;
  Function functions_[2] = {nullptr, nullptr};
};

}  // namespace osprey

#define OSPREY_CONCAT_(a, b) a##b
#define OSPREY_CONCAT(a, b) OSPREY_CONCAT_(a, b)
// At namespace scope: OSPREY_REGISTER_KERNEL(roi_align_forward_kernel, DeviceType::kCPU,
// roi_align_forward_cpu);
#define OSPREY_REGISTER_KERNEL(kernel, device_type, function)                         \
  [[maybe_unused]] static const bool OSPREY_CONCAT(osprey_registered_, __COUNTER__) = \
      kernel.set(device_type, function)
