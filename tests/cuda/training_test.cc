#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/backend/cuda/runtime.h"
#include "core/runner/checkpoint.h"
#include "core/runner/hook.h"
#include "core/tensor/storage.h"
#include "tools/training.h"

// HTC in half, trained on rendered scenes through tools/train: the same on CUDA (or the emulated device) as
// on the CPU.
namespace osprey {
namespace {

namespace fs = std::filesystem;

// How often the host waited within each iteration of the last run on CUDA.
std::vector<int64_t>& waits_of_iterations() {
  static std::vector<int64_t> waits;
  return waits;
}

class CountWaitsHook final : public Hook {
 public:
  explicit CountWaitsHook(const ConfigNode&) {}
  void before_train_iter(Runner&) override { before_ = synchronization_count(); }
  void after_train_iter(Runner&) override {
    waits_of_iterations().push_back(synchronization_count() - before_);
  }

 private:
  int64_t before_ = 0;
};
OSPREY_REGISTER_HOOK(CountWaitsHook);

struct Outcome {
  std::vector<nlohmann::json> train, val;  // lines of the log
  Checkpoint last;
};

Outcome trained_on(const std::string& device, const std::vector<std::string>& overrides) {
  std::string work_dir = ::testing::TempDir() + "/train_XXXXXX";
  OSPREY_REQUIRE(::mkdtemp(work_dir.data()), "cannot make ", work_dir);
  TrainOptions options;
  options.config = "tests/end_to_end/tiny_htc.yaml";
  options.work_dir = work_dir;
  options.cfg_options = overrides;
  options.device = device;
  Training(options).run();
  Outcome run;
  for (const auto& entry : fs::directory_iterator(work_dir)) {
    if (!entry.path().string().ends_with(".log.json")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      const auto json = nlohmann::json::parse(line);
      if (json.value("mode", "") == "train") run.train.push_back(json);
      if (json.value("mode", "") == "val") run.val.push_back(json);
    }
  }
  run.last = read_checkpoint(work_dir + "/epoch_1.safetensors");
  return run;
}

class CudaTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count(DeviceType::kCUDA) == 0) GTEST_SKIP() << "no GPU";
  }

  // Sampling turns a last-bit difference into other boxes, so runs part after a few steps; the first lines
  // must agree.
  static void expect_same_course(const std::vector<std::string>& overrides) {
    const Outcome cpu = trained_on("cpu", overrides), cuda = trained_on("cuda", overrides);
    ASSERT_EQ(cuda.train.size(), cpu.train.size());
    ASSERT_EQ(cuda.train.size(), 2u);
    for (const auto& [key, value] : cpu.train[0].items()) {
      if (key.find("loss") == std::string::npos || !value.is_number()) continue;
      const double expected = value.get<double>();
      EXPECT_NEAR(cuda.train[0][key].get<double>(), expected, 0.02 * std::abs(expected) + 2e-3) << key;
    }
    for (const auto& line : cuda.train) EXPECT_TRUE(line["loss"].is_number()) << line;
    EXPECT_GT(cuda.train[0]["memory"].get<double>(), 0) << "device memory is logged";
    EXPECT_EQ(cuda.val.size(), cpu.val.size());
    EXPECT_EQ(cuda.last.weights.size(), cpu.last.weights.size());
    for (const auto& [name, tensor] : cuda.last.weights.entries()) EXPECT_TRUE(all_finite(tensor)) << name;
  }
};

TEST_F(CudaTraining, HtcInF16) { expect_same_course({"runner.max_epochs=1"}); }

// docs/cuda.md, "Where the host waits": proposals, anchors, two draws of samples and the masks of each of
// three stages, and the end. The first iteration also fetches the batch counters of the norms.
TEST_F(CudaTraining, TheHostWaitsWhereSizesMustBeKnownAndOnceAtTheEnd) {
  waits_of_iterations().clear();
  trained_on("cuda", {"runner.max_epochs=1", "custom_hooks=[{type: CountWaitsHook}]"});
  ASSERT_EQ(waits_of_iterations().size(), 4u);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(waits_of_iterations()[i], 1 + 1 + 3 * (2 + 1) + 1) << i;
}

TEST_F(CudaTraining, HtcInF32) { expect_same_course({"runner.max_epochs=1", "fp16=null"}); }

}  // namespace
}  // namespace osprey
