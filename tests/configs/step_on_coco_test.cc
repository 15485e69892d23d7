#include <gtest/gtest.h>

#include <cstdlib>

#include "core/config/config.h"
#include "tests/configs/shipped_configs.h"
#include "tests/configs/small_run.h"

namespace osprey {
namespace {

std::vector<std::string> configs_with_images() {
  std::vector<std::string> files = shipped_configs();
  std::erase_if(files, [](const std::string& file) {
    const ConfigNode cfg = load_config(file);
    return !cfg.has("data_root") || cfg.get("dataset_type", "") != "CocoDataset";
  });
  return files;
}

class StepOnCoco : public ::testing::TestWithParam<std::string> {};

// Real images: the folder in COCO's layout that OSPREY_COCO128_DIR names.
TEST_P(StepOnCoco, LogsEveryLoss) {
  const char* folder = std::getenv("OSPREY_COCO128_DIR");
  if (!folder) GTEST_SKIP() << "set OSPREY_COCO128_DIR to the coco128 folder";
  expect_training_step(GetParam(), {std::string("data_root=") + folder});
}

INSTANTIATE_TEST_SUITE_P(Configs, StepOnCoco, ::testing::ValuesIn(configs_with_images()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace osprey
