#include "tools/device_choice.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/base/logging.h"

namespace osprey {
namespace {

bool has_cuda_device() {
  return std::filesystem::exists("/dev/nvidia0") || std::filesystem::exists("/dev/nvidiactl");
}

}  // namespace

Device choose_device(const std::string& requested) {
  if (requested != "" && requested != "cpu" && requested != "cuda")
    throw UserError("--device " + requested + ": allowed are cpu and cuda");
  if (requested == "cuda") {
    throw UserError(has_cuda_device()
                        ? "--device cuda: this build trains on the CPU (--device cpu)"
                        : "--device cuda: this machine has no CUDA device; --device cpu trains here");
  }
  if (requested.empty())
    log_info(has_cuda_device() ? "This build trains on the CPU" : "No CUDA device: training on the CPU");
  return kCPU;
}

}  // namespace osprey
