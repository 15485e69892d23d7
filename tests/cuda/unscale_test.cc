#include <gtest/gtest.h>

#include <limits>

#include "core/amp/master_weights.h"
#include "core/backend/cuda/runtime.h"
#include "tests/golden.h"

// The pass from the model's gradients to the masters' on CUDA.
namespace osprey {
namespace {

using testing::uniform;

constexpr Device kCuda{DeviceType::kCUDA, 0};

class TwoWeights final : public Module {
 public:
  Parameter* first = add_parameter("first", uniform({37, 5}, -1, 1, 1));
  Parameter* second = add_parameter("second", uniform({3}, -1, 1, 2));
};

class CudaUnscale : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

INSTANTIATE_TEST_SUITE_P(All, CudaUnscale, ::testing::Values(DType::kF32, DType::kF16, DType::kBF16),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(CudaUnscale, WidensDividesAccumulatesAndNamesWhatIsNotFinite) {
  TwoWeights model;
  model.to(kCuda);
  EXPECT_EQ(model.device(), kCuda);
  MasterWeights weights(model);
  if (GetParam() != DType::kF32) weights.convert_model(GetParam(), {});
  const auto give = [&](double value) {
    for (Parameter* parameter : {model.first, model.second}) {
      parameter->variable.mutable_grad() =
          Tensor::full(parameter->variable.shape(), value, GetParam(), kCuda);
    }
  };
  give(512);
  const int64_t waits = synchronization_count();
  EXPECT_TRUE(weights.take_grads(256).empty());
  EXPECT_EQ(synchronization_count() - waits, 1) << "one look at all gradients";
  EXPECT_TENSOR_EQ(weights.find("first")->grad, Tensor::full({37, 5}, 2, DType::kF32));
  give(256);
  EXPECT_TRUE(weights.take_grads(256).empty());
  EXPECT_TENSOR_EQ(weights.find("second")->grad, Tensor::full({3}, 3, DType::kF32));
  give(1);
  model.second->variable.mutable_grad().slice(1, 2).fill(std::numeric_limits<double>::infinity());
  EXPECT_EQ(weights.take_grads(256), (std::vector<std::string>{"second"}));
}

TEST_P(CudaUnscale, RoundsTheMastersBackAsTheCPU) {
  if (GetParam() == DType::kF32) GTEST_SKIP() << "an f32 model shares its memory with the masters";
  TwoWeights model;
  model.to(kCuda);
  MasterWeights weights(model);
  weights.convert_model(GetParam(), {});
  const Tensor first = uniform({37, 5}, -3, 3, 5), second = uniform({3}, -1e-6, 1e-6, 6);
  weights.find("first")->value.copy_from(first);
  weights.find("second")->value.copy_from(second);
  const int64_t waits = synchronization_count();
  weights.copy_to_model();
  EXPECT_EQ(synchronization_count(), waits);
  EXPECT_TENSOR_EQ(model.first->variable.value(), first.to(GetParam()));
  EXPECT_TENSOR_EQ(model.second->variable.value(), second.to(GetParam()));
}

}  // namespace
}  // namespace osprey
