#include <gtest/gtest.h>

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "losses/loss.h"
#include "tests/plugins/example_plugin.h"

namespace osprey {
namespace {

class LogCoshLoss : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { load_example_plugin("log_cosh_loss"); }
  static std::unique_ptr<Loss> make(const std::string& keys = "") {
    return build<Loss>(parse_config("{type: LogCoshLoss" + keys + "}"));
  }
};

TEST_F(LogCoshLoss, IsRegisteredBesideTheLossesOfTheProgram) {
  EXPECT_TRUE(Registry<Loss>::instance().has("LogCoshLoss"));
  EXPECT_TRUE(Registry<Loss>::instance().has("SmoothL1Loss"));
}

TEST_F(LogCoshLoss, IsTheMeanOfLogCosh) {
  const Tensor pred = Tensor::from<double>({-2, 0.5, 0, 3}, {1, 4});
  const Tensor target = Tensor::from<double>({0, 0, 0, 1}, {1, 4});
  const double expected = (2 * std::log(std::cosh(2.0)) + std::log(std::cosh(0.5))) / 4;
  EXPECT_NEAR((*make())(pred, target).value().item(), expected, 1e-12);
  EXPECT_NEAR((*make(", loss_weight: 3"))(pred, target).value().item(), 3 * expected, 1e-12);
}

TEST_F(LogCoshLoss, IsFiniteFarAway) {
  const Tensor pred = Tensor::from<float>({1e30F, -1e30F, 100, -100}, {1, 4});
  const Variable loss = (*make(", reduction: sum"))(pred, Tensor::zeros_like(pred));
  EXPECT_TRUE(std::isfinite(loss.value().item()));
}

TEST_F(LogCoshLoss, GradientMatchesFiniteDifferences) {
  const std::unique_ptr<Loss> loss = make();
  const Tensor target = Tensor::zeros({2, 4}, DType::kF64);
  const Tensor pred = Tensor::from<double>({-3, -0.7, 0.2, 1.5, 8, -20, 0.01, -0.01}, {2, 4});
  EXPECT_GRADCHECK([&](const Variables& in) { return (*loss)(in[0], target); }, Tensors{pred});
}

}  // namespace
}  // namespace osprey
