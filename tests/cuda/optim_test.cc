#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/backend/cuda/runtime.h"
#include "core/ops/fetch.h"
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

// Sizes around that of a piece of work, which takes 16384 elements, and one parameter without a gradient at
// first.
constexpr int64_t kSizes[] = {407, 1, 16384, 16385, 40000, 0, 9};

// All parameters after three steps.
Tensors trained(const std::string& yaml, Device device) {
  std::vector<MasterParameter> params;
  for (const int64_t n : kSizes) {
    params.push_back({str_cat("p", params.size()),
                      uniform({n}, -1, 1, params.size()).to(device).clone(),
                      Tensor(),
                      {},
                      true});
  }
  std::vector<MasterParameter*> all;
  for (MasterParameter& param : params) all.push_back(&param);
  const ConfigNode cfg = parse_config(yaml);
  const auto optimizer = build<Optimizer>(cfg);
  optimizer->set_groups(build_param_groups(cfg, *optimizer, all));
  for (uint64_t step = 0; step < 3; ++step) {
    for (size_t i = 0; i < params.size(); ++i) {
      const bool missing = (i == 6 && step == 0) || (i == 1 && step == 1);
      params[i].grad = missing ? Tensor() : uniform(params[i].value.shape(), -1, 1, 10 * step + i).to(device);
    }
    const int64_t waits = synchronization_count();
    optimizer->step(0.5);
    EXPECT_EQ(synchronization_count(), waits) << "a step waits for nothing";
  }
  Tensors values;
  for (const MasterParameter& param : params) values.push_back(param.value.to(kCPU));
  return values;
}

TEST_F(CudaOptim, StepsLikeTheCPU) {
  for (const char* yaml : {"{type: SGD, lr: 0.1}", "{type: SGD, lr: 0.1, momentum: 0.9, weight_decay: 0.01}",
                           "{type: SGD, lr: 0.1, momentum: 0.9, nesterov: true}", "{type: Adam, lr: 0.01}",
                           "{type: AdamW, lr: 0.01, weight_decay: 0.1, amsgrad: true}"}) {
    // The GPU contracts a product and a sum into one rounding.
    const Tensors actual = trained(yaml, kCuda), expected = trained(yaml, kCPU);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_TENSOR_NEAR(actual[i], expected[i], 1e-6, 1e-6) << yaml << " " << i;
    }
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

TEST_F(CudaOptim, NumbersOfDifferentKindsAreFetchedWithOneWait) {
  const Tensor doubles = Tensor::from<double>({1.5, -2.25}, {2}).to(kCuda);
  const Tensor integers = Tensor::from<int32_t>({7, 8, 9}, {3}).to(kCuda);
  const Tensor here = Tensor::full({}, 3, DType::kF32), scalar = here.to(kCuda);
  const int64_t waits = synchronization_count();
  const Tensors fetched =
      fetch_together({doubles, Tensor(), integers, here, Tensor({0, 4}, DType::kF32, kCuda), scalar});
  EXPECT_EQ(synchronization_count() - waits, 1);
  EXPECT_EQ(fetched[0].to_vector<double>(), (std::vector<double>{1.5, -2.25}));
  EXPECT_FALSE(fetched[1].defined());
  EXPECT_EQ(fetched[2].to_vector<int32_t>(), (std::vector<int32_t>{7, 8, 9}));
  EXPECT_TRUE(fetched[3].shares_storage(here));
  EXPECT_EQ(fetched[4].shape(), (Shape{0, 4}));
  EXPECT_EQ(fetched[5].item(), 3);
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
