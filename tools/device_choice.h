#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor/device.h"

namespace CLI {
class App;
}

namespace osprey {

// --device, --gpus, --gpu-ids and --gpu-id as the user gave them.
struct DeviceFlags {
  std::string device;        // "", "cpu", "cuda", "cuda:N"
  std::optional<int> gpus;   // how many
  std::vector<int> gpu_ids;  // which, as the driver counts those that CUDA_VISIBLE_DEVICES shows
};
void add_device_flags(CLI::App& app, DeviceFlags& flags);

// Where a tool computes: one device, in one process. Of several ranks on a machine each takes the GPU of its
// local rank; a machine with fewer GPUs than ranks is an error. Without flags the first GPU that can run this
// build, else the CPU, with a line that says which and why. A GPU that was asked for and cannot be had is an
// error, as are two of them. Throws UserError.
Device choose_device(const DeviceFlags& flags);

}  // namespace osprey
