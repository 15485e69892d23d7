#include "tools/device_choice.h"

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/tensor/storage.h"

namespace osprey {

Device choose_device(const std::string& requested) {
  if (requested != "" && requested != "cpu" && requested != "cuda")
    throw UserError("--device " + requested + ": allowed are cpu and cuda");
  if (requested == "cpu") return kCPU;
  if (device_count(DeviceType::kCUDA) > 0) return {DeviceType::kCUDA, 0};
  if (requested == "cuda")
    throw UserError(
        "--device cuda: no CUDA device was found, or this build is for the CPU alone (OSPREY_BUILD=cuda "
        "builds for "
        "both); --device cpu works everywhere");
  log_info("No CUDA device: using the CPU");
  return kCPU;
}

}  // namespace osprey
