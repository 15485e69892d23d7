#include <gtest/gtest.h>

#include "tests/configs/shipped_configs.h"
#include "tests/configs/small_run.h"

namespace osprey {
namespace {

class StepOnShapes : public ::testing::TestWithParam<std::string> {};

TEST_P(StepOnShapes, LogsEveryLoss) { expect_training_step(GetParam(), rendered_data(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Configs, StepOnShapes, ::testing::ValuesIn(shipped_configs()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace osprey
