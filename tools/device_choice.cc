#include "tools/device_choice.h"

#include <CLI/CLI.hpp>

#include "core/backend/device_backend.h"
#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/parallel/communicator.h"
#include "core/tensor/storage.h"

namespace osprey {
namespace {

// The GPU's number in "cuda:1"; none for "cuda".
std::optional<int> index_of(const std::string& device) {
  if (device == "cuda") return std::nullopt;
  const std::string digits = device.substr(device.find(':') + 1);
  const bool number =
      !digits.empty() && digits.size() < 4 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!number || !starts_with(device, "cuda:"))
    throw UserError(str_cat("--device ", device, ": allowed are cpu, cuda and cuda:N"));
  return std::stoi(digits);
}

// What the flags ask for: the CPU, a GPU by its number, or nothing in particular.
struct Wish {
  bool cpu = false, any_gpu = false;
  std::optional<int> gpu;
  std::string flag;  // "--gpu-ids 1", for messages
};

Wish read(const DeviceFlags& flags) {
  Wish wish;
  if (flags.gpu_ids.size() > 1 || flags.gpus.value_or(1) > 1) {
    throw UserError(
        str_cat(flags.gpus ? str_cat("--gpus ", *flags.gpus) : "--gpu-ids " + join(flags.gpu_ids, " "),
                ": one process trains on one GPU here; give one id (--gpu-ids ",
                flags.gpu_ids.empty() ? 0 : flags.gpu_ids[0],
                ") and, for the same learning rate as on several, a larger data.samples_per_gpu"));
  }
  if (flags.gpus && *flags.gpus < 1)
    throw UserError(str_cat("--gpus ", *flags.gpus, ": 1 is the only choice; --device cpu uses none"));
  if (flags.device == "cpu") {
    if (!flags.gpu_ids.empty())
      throw UserError(str_cat("--device cpu and --gpu-ids ", flags.gpu_ids[0], " exclude each other"));
    wish.cpu = true;
    return wish;
  }
  if (!flags.device.empty()) {
    wish.any_gpu = true;
    wish.gpu = index_of(flags.device);
    wish.flag = "--device " + flags.device;
  }
  if (!flags.gpu_ids.empty()) {
    if (flags.gpu_ids[0] < 0) throw UserError(str_cat("--gpu-ids ", flags.gpu_ids[0], ": ids begin with 0"));
    if (wish.gpu && *wish.gpu != flags.gpu_ids[0])
      throw UserError(
          str_cat("--device ", flags.device, " and --gpu-ids ", flags.gpu_ids[0], " name two devices"));
    wish.gpu = flags.gpu_ids[0];
    wish.flag = str_cat("--gpu-ids ", *wish.gpu);
  }
  if (flags.gpus && wish.flag.empty()) wish.flag = "--gpus 1";
  wish.any_gpu = !wish.flag.empty();
  if (wish.gpu && world().local_size() > 1) {
    throw UserError(str_cat(wish.flag,
                            ": with --launcher each rank takes the GPU of its own local rank; "
                            "CUDA_VISIBLE_DEVICES chooses among them"));
  }
  return wish;
}

// All ranks of the machine see the same, so they fail alike.
void require_gpu_for_each(int count) {
  if (world().local_size() <= count) return;
  throw UserError(str_cat(world().local_size(), " ranks on a machine that shows ", count,
                          count == 1 ? " GPU" : " GPUs", ": start as many as it has, or give --device cpu"));
}

std::string why_no_gpu(const DeviceBackend* backend) {
  return backend ? backend->problem() : "this build is for the CPU alone (OSPREY_BUILD=cuda builds for both)";
}

}  // namespace

void add_device_flags(CLI::App& app, DeviceFlags& flags) {
  app.add_option("--device", flags.device, "cpu | cuda | cuda:N (a GPU when there is one)");
  auto* gpus = app.add_option("--gpus", flags.gpus, "number of GPUs: 1");
  app.add_option("--gpu-ids,--gpu-id", flags.gpu_ids, "id of the GPU to use")->excludes(gpus);
}

Device choose_device(const DeviceFlags& flags) {
  const Wish wish = read(flags);
  if (wish.cpu) return kCPU;
  const DeviceBackend* backend = device_backend(DeviceType::kCUDA);
  const std::string problem = device_count(DeviceType::kCUDA) > 0 ? "" : why_no_gpu(backend);
  const Device gpu{DeviceType::kCUDA, wish.gpu.value_or(world().local_rank())};
  if (problem.empty()) {
    require_gpu_for_each(device_count(DeviceType::kCUDA));
    try {
      backend->require(gpu);
      log_info(str_cat("Using ", gpu, ": ", backend->describe(gpu)));
      return gpu;
    } catch (const UserError& error) {
      if (wish.any_gpu) throw UserError(str_cat(wish.flag, ": ", error.what()));
      log_warning(str_cat(error.what(), "; using the CPU"));
      return kCPU;
    }
  }
  if (wish.any_gpu) {
    throw UserError(str_cat(wish.flag, ": no CUDA device: ", problem, "; --device cpu works everywhere"));
  }
  log_info(str_cat("No CUDA device (", problem, "): using the CPU"));
  return kCPU;
}

}  // namespace osprey
