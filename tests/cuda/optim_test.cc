#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/backend/cuda/runtime.h"
#include "core/optim/clip_grad.h"
#include "core/optim/optimizer.h"
#include "core/optim/param_groups.h"
#include "tests/golden.h"

// Optimizers and gradient norms on CUDA against the CPU.
namespace osprey {
namespace {

using testing::uniform;

constexpr Device kCuda{DeviceType::kCUDA, 0};

class CudaOptim : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

// The parameter after three steps.
Tensor trained(const std::string& yaml, Device device) {
  MasterParameter param{"p", uniform({37, 11}, -1, 1, 1).to(device), Tensor(), {}, true};
  param.value = param.value.clone();
  const ConfigNode cfg = parse_config(yaml);
  const auto optimizer = build<Optimizer>(cfg);
  optimizer->set_groups(build_param_groups(cfg, *optimizer, {&param}));
  for (uint64_t step = 0; step < 3; ++step) {
    param.grad = uniform({37, 11}, -1, 1, 10 + step).to(device);
    const int64_t waits = synchronization_count();
    optimizer->step(0.5);
    EXPECT_EQ(synchronization_count(), waits) << "a step waits for nothing";
  }
  return param.value.to(kCPU);
}

TEST_F(CudaOptim, StepsLikeTheCPU) {
  for (const char* yaml : {"{type: SGD, lr: 0.1}", "{type: SGD, lr: 0.1, momentum: 0.9, weight_decay: 0.01}",
                           "{type: SGD, lr: 0.1, momentum: 0.9, nesterov: true}", "{type: Adam, lr: 0.01}",
                           "{type: AdamW, lr: 0.01, weight_decay: 0.1, amsgrad: true}"}) {
    // The GPU contracts a product and a sum into one rounding.
    EXPECT_TENSOR_NEAR(trained(yaml, kCuda), trained(yaml, kCPU), 1e-6, 1e-6) << yaml;
  }
}

TEST_F(CudaOptim, NormsOfAllGradientsTogether) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, inf, std::nan("")}) {
    for (const double p : {1.0, 2.0, 3.5, inf}) {
      MasterParameter a{"a", {}, uniform({70001}, -1, 1, 1), {}, true},
          b{"b", {}, uniform({3}, -1, 1, 2), {}, true};
      MasterParameter none{"c", {}, Tensor(), {}, true};
      if (bad != 0) b.grad.slice(1, 2).fill(bad);
      const double expected = grad_norm({&a, &b, &none}, p);
      a.grad = a.grad.to(kCuda);
      b.grad = b.grad.to(kCuda);
      const int64_t waits = synchronization_count();
      const double actual = grad_norm({&a, &b, &none}, p);
      EXPECT_EQ(synchronization_count() - waits, 1);
      EXPECT_EQ(std::isfinite(actual), std::isfinite(expected)) << p << " " << bad;
      if (std::isfinite(expected)) {
        EXPECT_NEAR(actual, expected, 1e-12 * expected) << p;
      }
    }
  }
}

TEST_F(CudaOptim, FiniteChecksReadFourBytes) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    Tensor x = uniform({1003}, -1, 1, 1).to(dtype).to(kCuda);
    EXPECT_TRUE(all_finite(x));
    x.slice(1002, 1003).fill(std::nan(""));
    EXPECT_FALSE(all_finite(x));
    x.slice(1002, 1003).fill(-std::numeric_limits<double>::infinity());
    EXPECT_FALSE(all_finite(x));
  }
}

}  // namespace
}  // namespace osprey
