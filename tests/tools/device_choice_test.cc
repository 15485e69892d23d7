#include "tools/device_choice.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

// The flags by themselves; what machines answer is tested in tests/cuda/startup_test.cc.
namespace osprey {
namespace {

std::string refusal(const DeviceFlags& flags) {
  try {
    choose_device(flags);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(DeviceChoice, CpuWhenAsked) {
  DeviceFlags flags;
  flags.device = "cpu";
  EXPECT_EQ(choose_device(flags), kCPU);
}

TEST(DeviceChoice, UnknownDevicesNameTheAllowed) {
  for (const char* device : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", "CUDA"}) {
    DeviceFlags flags;
    flags.device = device;
    EXPECT_EQ(refusal(flags), std::string("--device ") + device + ": allowed are cpu, cuda and cuda:N");
  }
}

TEST(DeviceChoice, SeveralGpusSayWhatIsSupported) {
  DeviceFlags flags;
  flags.gpu_ids = {2, 3};
  EXPECT_EQ(refusal(flags),
            "--gpu-ids 2 3: one process trains on one GPU here; give one id (--gpu-ids 2) and, for the same "
            "learning rate as on several, a larger data.samples_per_gpu");
  flags.gpu_ids = {};
  flags.gpus = 8;
  EXPECT_EQ(refusal(flags).find("--gpus 8: one process trains on one GPU here; give one id (--gpu-ids 0)"),
            0u);
}

TEST(DeviceChoice, ContradictionsAndNonsense) {
  DeviceFlags flags;
  flags.gpus = 0;
  EXPECT_EQ(refusal(flags), "--gpus 0: 1 is the only choice; --device cpu uses none");
  flags = {};
  flags.device = "cpu";
  flags.gpu_ids = {1};
  EXPECT_EQ(refusal(flags), "--device cpu and --gpu-ids 1 exclude each other");
  flags.device = "cuda:2";
  EXPECT_EQ(refusal(flags), "--device cuda:2 and --gpu-ids 1 name two devices");
  flags.device = "";
  flags.gpu_ids = {-1};
  EXPECT_EQ(refusal(flags), "--gpu-ids -1: ids begin with 0");
}

}  // namespace
}  // namespace osprey
