#include "core/amp/master_weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/amp/precision_config.h"
#include "tests/golden.h"

namespace osprey {
namespace {

class Layer : public Module {
 public:
  explicit Layer(Tensor weight, bool norm = false) : norm_(norm) {
    weight_ = add_parameter("weight", std::move(weight));
  }
  bool keeps_fp32() const override { return norm_; }
  Parameter* weight_;

 private:
  bool norm_;
};

class Model : public Module {
 public:
  Model() {
    conv = add_child("conv", std::make_unique<Layer>(Tensor::from<float>({1 + 0x1p-20f, 2}, {2})));
    bn = add_child("bn", std::make_unique<Layer>(Tensor::from<float>({1 + 0x1p-20f}, {1}), true));
    teacher = add_child("teacher", std::make_unique<Layer>(Tensor::from<float>({3}, {1})));
  }
  Layer *conv, *bn, *teacher;
};

TEST(MasterWeights, ShareMemoryWithAnF32Model) {
  Model model;
  MasterWeights weights(model);
  weights.find("conv.weight")->value.fill(7);
  EXPECT_EQ(model.conv->weight_->variable.value().to_doubles()[0], 7);
}

// STORY 21: the model rounds, the master does not, and the checkpoint holds the master.
TEST(MasterWeights, KeepWhatHalfCannotHold) {
  Model model;
  MasterWeights weights(model);
  weights.convert_model(DType::kF16, {"teach*"});
  EXPECT_EQ(model.conv->weight_->variable.dtype(), DType::kF16);
  EXPECT_EQ(model.conv->weight_->variable.value().to_doubles()[0], 1);
  EXPECT_EQ(model.bn->weight_->variable.dtype(), DType::kF32);
  EXPECT_EQ(model.teacher->weight_->variable.dtype(), DType::kF32);  // STORY 12
  EXPECT_EQ(weights.state_dict().find("conv.weight")->to_doubles()[0], 1 + 0x1p-20);
  weights.find("conv.weight")->value.fill(5);
  weights.copy_to_model();
  EXPECT_EQ(model.conv->weight_->variable.value().to_doubles()[1], 5);
}

TEST(MasterWeights, UnscaleCheckAndSumGradients) {
  Model model;
  MasterWeights weights(model);
  weights.convert_model(DType::kF16, {});
  for (int i = 0; i < 2; ++i) {
    model.conv->weight_->variable.mutable_grad() = Tensor::from<float>({512, 1024}, {2}).to(DType::kF16);
    model.bn->weight_->variable.mutable_grad() = Tensor::from<float>({256}, {1});
    EXPECT_TRUE(weights.take_grads(512).empty());
    EXPECT_FALSE(model.conv->weight_->variable.grad().defined());
  }
  EXPECT_EQ(weights.find("conv.weight")->grad.to_doubles(), (std::vector<double>{2, 4}));
  EXPECT_EQ(weights.find("bn.weight")->grad.to_doubles(), (std::vector<double>{1}));
  EXPECT_FALSE(weights.find("teacher.weight")->grad.defined());
}

TEST(MasterWeights, NameNonFiniteGradients) {
  for (const double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Model model;
    MasterWeights weights(model);
    weights.convert_model(DType::kF16, {});
    Tensor grad = Tensor::from<double>({1, bad}, {2}).to(DType::kF16);
    model.conv->weight_->variable.mutable_grad() = grad;
    model.teacher->weight_->variable.mutable_grad() = Tensor::from<float>({1}, {1}).to(DType::kF16);
    EXPECT_EQ(weights.take_grads(64), std::vector<std::string>{"conv.weight"});
  }
}

TEST(MasterWeights, RunInFp32ForAReplay) {
  Model model;
  MasterWeights weights(model);
  weights.convert_model(DType::kF16, {});
  const Variable half = model.conv->weight_->variable;
  {
    const MasterWeights::InFp32 guard(weights);
    EXPECT_EQ(model.conv->weight_->variable.dtype(), DType::kF32);
    EXPECT_EQ(model.conv->weight_->variable.value().to_doubles()[0], 1 + 0x1p-20);
    EXPECT_TRUE(model.conv->weight_->requires_grad());
  }
  EXPECT_EQ(model.conv->weight_->variable.state(), half.state());
}

TEST(PrecisionTable, SaysWhoKeepsF32AndWhy) {
  Model model;
  MasterWeights weights(model);
  weights.convert_model(DType::kF16, {"teacher"});
  const std::string table = precision_table(model, DType::kF16, {"teacher"});
  EXPECT_NE(table.find("conv                        1 layer f16"), std::string::npos) << table;
  EXPECT_NE(table.find("1 layer f32 (the layer keeps f32)"), std::string::npos) << table;
  EXPECT_NE(table.find("1 layer f32 (keep_fp32: 'teacher')"), std::string::npos) << table;
}

TEST(PrecisionConfig, IsTurnedOnByTheBareKey) {
  EXPECT_FALSE(PrecisionConfig::from(parse_config("a: 1")).mixed());
  EXPECT_FALSE(PrecisionConfig::from(parse_config("fp16: null")).mixed());
  EXPECT_EQ(PrecisionConfig::from(parse_config("fp16: {}")).dtype, DType::kF16);
  EXPECT_EQ(PrecisionConfig::from(parse_config("bf16: {}")).dtype, DType::kBF16);
  EXPECT_THROW(PrecisionConfig::from(parse_config("{fp16: {}, bf16: {}}")), UserError);
  EXPECT_THROW(PrecisionConfig::from(parse_config("fp16: 512")), UserError);
}

}  // namespace
}  // namespace osprey
