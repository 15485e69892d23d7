#include <gtest/gtest.h>

#include <cstdlib>

#include "core/backend/cuda/architectures.h"
#include "core/backend/device_backend.h"
#include "tests/cuda_emulator/emulator.h"
#include "tools/device_choice.h"

// What a user reads whose GPU cannot be used, on machines that the double imitates. Only in the emulated
// build.
namespace osprey {
namespace {

class Startup : public ::testing::Test {
 protected:
  ~Startup() override { emulator::machine() = emulator::Machine(); }

  static DeviceFlags asking(const std::string& device, std::vector<int> gpu_ids = {}) {
    DeviceFlags flags;
    flags.device = device;
    flags.gpu_ids = std::move(gpu_ids);
    return flags;
  }
  static std::string refusal(const DeviceFlags& flags) {
    try {
      choose_device(flags);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
};

#define EXPECT_SAYS(message, text) EXPECT_NE((message).find(text), std::string::npos) << (message)

TEST_F(Startup, TakesTheFirstGpuAndTheOneThatWasNamed) {
  EXPECT_EQ(choose_device({}), (Device{DeviceType::kCUDA, 0}));
  EXPECT_EQ(choose_device(asking("", {1})), (Device{DeviceType::kCUDA, 1}));
  EXPECT_EQ(choose_device(asking("cuda:1")), (Device{DeviceType::kCUDA, 1}));
  EXPECT_EQ(choose_device(asking("cuda", {1})), (Device{DeviceType::kCUDA, 1}));
  EXPECT_EQ(choose_device(asking("cpu")), kCPU);
}

TEST_F(Startup, GpuThatIsNotThere) {
  EXPECT_SAYS(refusal(asking("", {7})), "--gpu-ids 7: device cuda:7: this machine has cuda:0 to cuda:1");
  setenv("CUDA_VISIBLE_DEVICES", "3,5", 1);
  EXPECT_SAYS(refusal(asking("cuda:2")),
              "--device cuda:2: device cuda:2: this machine has cuda:0 to cuda:1 "
              "(CUDA_VISIBLE_DEVICES=3,5 hides others)");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(Startup, NoDriver) {
  emulator::machine().driver_version = 0;
  EXPECT_EQ(refusal(asking("cuda")),
            "--device cuda: no CUDA device: no NVIDIA driver is installed; --device cpu works everywhere");
  EXPECT_EQ(choose_device({}), kCPU);
}

TEST_F(Startup, DriverOlderThanTheToolkit) {
  emulator::machine().driver_version = 11080;
  EXPECT_SAYS(refusal(asking("", {0})),
              "--gpu-ids 0: no CUDA device: the NVIDIA driver is too old: it supports "
              "CUDA 11.8, this build needs ");
  EXPECT_EQ(choose_device({}), kCPU);
}

TEST_F(Startup, DriverWithoutAGpu) {
  emulator::machine().devices = 0;
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_SAYS(refusal(asking("cuda")), "the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES= hides others)");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(Startup, GpuThatTheKernelsWereNotCompiledFor) {
  emulator::machine().capability_major = 7;
  emulator::machine().capability_minor = 5;
  EXPECT_EQ(
      refusal(asking("cuda")),
      "--device cuda: device cuda:0: compute capability 7.5, but this build's kernels are for sm_80, sm_90 "
      "and newer; build for it with OSPREY_CUDA_ARCHS=sm_75");
  EXPECT_EQ(choose_device({}), kCPU) << "a warning, and the CPU";
}

TEST_F(Startup, GpuWithoutMemoryPools) {
  emulator::machine().memory_pools = false;
  EXPECT_SAYS(refusal(asking("cuda")), "no memory pools here");
}

TEST_F(Startup, MachineCodeRunsWithinItsMajorVersionAndPtxOnWhatCameLater) {
  EXPECT_TRUE(kernels_run_on(8, 0));
  EXPECT_TRUE(kernels_run_on(8, 9));
  EXPECT_FALSE(kernels_run_on(7, 0));
  EXPECT_TRUE(kernels_run_on(9, 0));
  EXPECT_TRUE(kernels_run_on(12, 1));
}

TEST_F(Startup, DescribesTheGpuAndTheLibraries) {
  const DeviceBackend& backend = *device_backend(DeviceType::kCUDA);
  EXPECT_EQ(backend.describe({DeviceType::kCUDA, 0}), "Emulated GPU, compute capability 9.0, 6.0 GiB");
  EXPECT_SAYS(backend.versions(), ", cuDNN 9.");
  EXPECT_EQ(backend.problem(), "");
}

}  // namespace
}  // namespace osprey
