#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/optim/clip_grad.h"
#include "core/optim/optimizer.h"
#include "core/optim/param_groups.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

MasterParameter master(const std::string& name, Tensor value, WeightLayout layout = {}) {
  return {name, std::move(value), Tensor(), layout, true};
}

std::unique_ptr<Optimizer> optimizer_for(const std::string& yaml,
                                         const std::vector<MasterParameter*>& params) {
  const ConfigNode cfg = parse_config(yaml);
  auto optimizer = build<Optimizer>(cfg);
  optimizer->set_groups(build_param_groups(cfg, *optimizer, params));
  return optimizer;
}

// {"optimizer": "SGD", "lr": 0.1} as YAML (which JSON is).
std::string yaml_of(nlohmann::json args, const std::string& type) {
  args["type"] = type;
  return args.dump();
}

// Golden ops/optim: PyTorch 1.13 on the CPU. Its vectorised axpy fuses multiply and add, ours does not: an
// ulp or two per step.
TEST(OptimizerGolden, StepsLikePyTorch) {
  const Golden golden = Golden::open("ops/optim");
  for (const std::string& name : golden.cases("optimizer", {"SGD", "Adam", "AdamW"})) {
    nlohmann::json params = golden.json()["cases"][name]["params"];
    MasterParameter p = master("p", golden.tensor(name + "/param_init").clone());
    const std::string type = params["optimizer"];
    params.erase("optimizer");
    const auto optimizer = optimizer_for(yaml_of(params, type), {&p});
    for (int i = 0; golden.has(name + "/grad" + std::to_string(i)); ++i) {
      p.grad = golden.tensor(name + "/grad" + std::to_string(i));
      optimizer->step();
      EXPECT_TENSOR_NEAR(p.value, golden.tensor(name + "/param" + std::to_string(i)), 1e-6, 1e-6)
          << name << " " << i;
    }
  }
}

// Golden optim/optim_fp32: 20 steps, with the state at the end; tolerance: ten times what f32 costs PyTorch
// itself against f64.
TEST(OptimizerGolden, KeepsPyTorchsState) {
  const Golden golden = Golden::open("optim/optim_fp32"), arguments = Golden::open("optim/optim");
  const auto& cases = arguments.json()["fp32"];
  ASSERT_FALSE(cases.empty());
  for (const auto& [name, spec] : cases.items()) {
    const double tolerance = 10 * spec["max_abs_to_float64"].get<double>();
    MasterParameter p = master("p", golden.tensor("p0").clone());
    const auto optimizer = optimizer_for(yaml_of(spec["args"], spec["optimizer"]), {&p});
    const Tensor& grads = golden.tensor("grads");
    for (int64_t i = 0; i < grads.dim(0); ++i) {
      p.grad = grads[i].clone();
      optimizer->step();
      EXPECT_TENSOR_NEAR(p.value, golden.tensor(name + "/params")[i], tolerance, 0) << name << " step " << i;
    }
    const StateDict state = optimizer->state_dict();
    for (const std::string& entry : golden.names(name + "/state/")) {
      const std::string key = entry.substr(name.size() + 7);
      if (key == "step") continue;
      ASSERT_NE(state.find("p." + key), nullptr) << name << " " << key;
      EXPECT_TENSOR_NEAR(*state.find("p." + key), golden.tensor(entry), tolerance, 1e-5) << entry;
    }
    EXPECT_EQ(state.find("p.step")->item(), static_cast<double>(grads.dim(0)));
  }
}

// Golden optim/optim_fp16: parameters, gradients and state in half, where an epsilon of 1e-8 is 0 and 0 / 0
// follows. Here the state is f32 whatever the model computes in: a finite gradient never gives a non-finite
// weight.
TEST(OptimizerGolden, StaysFiniteWhereHalfDoesNot) {
  const Golden golden = Golden::open("optim/optim_fp16"), arguments = Golden::open("optim/optim");
  for (const auto& [name, spec] : arguments.json()["fp16"].items()) {
    nlohmann::json args = spec["args"];
    args["weight_decay"] = args["wd"];
    args.erase("wd");
    MasterParameter p = master("p", golden.tensor("p0").to(DType::kF32).clone());
    const auto adamw = optimizer_for(yaml_of(args, "AdamW"), {&p});
    const Tensor grads = golden.tensor("grads").to(DType::kF32);
    for (int64_t i = 0; i < grads.dim(0); ++i) {
      p.grad = grads[i].clone();
      adamw->step();
    }
    EXPECT_TRUE(all_finite(grads) && all_finite(p.value)) << name;
  }
}

TEST(ClipGradGolden, ClipsLikePyTorch) {
  const Golden golden = Golden::open("ops/optim");
  for (const std::string& name : golden.cases("op", {"clip_grad_norm_"})) {
    const std::string type = golden.text(name, "norm_type");
    const GradClip clip = GradClip::from(parse_config(
        "{max_norm: " + std::to_string(golden.number(name, "max_norm")) + ", norm_type: " + type + "}"));
    MasterParameter a = master("a", golden.tensor(name + "/a")), b = master("b", golden.tensor(name + "/b"));
    a.grad = a.value;
    b.grad = b.value;
    const double norm = grad_norm({&a, &b}, clip.norm_type);
    EXPECT_NUMBER_NEAR(norm, golden.tensor(name + "/total_norm").item(), 0, 1e-5) << name;
    const double factor = clip_factor(clip, norm);
    for (const auto& [param, key] : {std::pair{&a, "/a_clipped"}, {&b, "/b_clipped"}}) {
      const std::vector<double> before = param->grad.to_doubles(),
                                after = golden.tensor(name + key).to_doubles();
      for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i] * factor, after[i], 1e-5) << name;
    }
  }
}

TEST(GradNorm, SumsInDouble) {
  // In f32 the square of 3e19 overflows, and 1 vanishes beside 1e8.
  MasterParameter p = master("p", Tensor::from<float>({3e19f, 4e19f}, {2}));
  p.grad = p.value;
  EXPECT_NEAR(grad_norm({&p}, 2), 5e19, 1e13);
}

TEST(GradNorm, IsNonFiniteExactlyWhenAnElementIs) {
  for (const double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> values(40000, 1e30f);
      MasterParameter param = master("p", Tensor::from<float>(values, {40000}));
      param.grad = param.value;
      if (p <= 2 || std::isinf(p)) {
        EXPECT_TRUE(std::isfinite(grad_norm({&param}, p))) << p;
      }
      values[39999] = bad;
      param.grad = Tensor::from<float>(values, {40000});
      EXPECT_FALSE(std::isfinite(grad_norm({&param}, p))) << p << " " << bad;
    }
  }
}

// PyTorch's zero_grad leaves zeros behind: momentum goes on for a layer without samples in this iteration.
TEST(Optimizer, MomentumGoesOnWithoutAGradient) {
  MasterParameter p = master("p", Tensor::from<float>({1}, {1})),
                  never = master("never", Tensor::from<float>({1}, {1}));
  const auto sgd = optimizer_for("{type: SGD, lr: 1.0, momentum: 0.5}", {&p, &never});
  p.grad = Tensor::from<float>({1}, {1});
  sgd->step();
  EXPECT_EQ(p.value.item(), 0);
  p.grad = Tensor();
  sgd->step();
  EXPECT_EQ(p.value.item(), -0.5);
  EXPECT_EQ(never.value.item(), 1);
}

TEST(Optimizer, FrozenParametersStay) {
  MasterParameter p = master("p", Tensor::from<float>({1}, {1}));
  p.requires_grad = false;
  p.grad = Tensor::from<float>({1}, {1});
  optimizer_for("{type: SGD, lr: 1.0}", {&p})->step();
  EXPECT_EQ(p.value.item(), 1);
}

// STORY 7: in half, eps 1e-8 rounds to 0 and a zero gradient gives 0/0. Steps run on f32 masters whatever the
// model computes in.
TEST(AdamW, ZeroGradientWithTheDefaultEpsilonMovesNothing) {
  MasterParameter p = master("p", Tensor::from<float>({1, 2}, {2}));
  const auto adamw = optimizer_for("{type: AdamW, lr: 0.001, weight_decay: 0}", {&p});
  for (int i = 0; i < 3; ++i) {
    p.grad = Tensor::zeros({2}, DType::kF32);
    adamw->step();
  }
  EXPECT_EQ(p.value.to_doubles(), (std::vector<double>{1, 2}));
}

// STORY 22: 1e-9 is below half's smallest number.
TEST(Optimizer, SmallSecondMomentsSurviveSaveAndLoad) {
  MasterParameter p = master("p", Tensor::from<float>({1, 2}, {2}));
  const auto adam = optimizer_for("{type: Adam, lr: 0.001, betas: [0.9, 0.0]}", {&p});
  p.grad = Tensor::from<float>({3.1622776e-5f, 1}, {2});
  adam->step();
  const StateDict state = adam->state_dict();
  EXPECT_NEAR(state.find("p.exp_avg_sq")->to_doubles()[0], 1e-9, 1e-12);

  MasterParameter q = master("p", p.value.clone());
  const auto resumed = optimizer_for("{type: Adam, lr: 0.001, betas: [0.9, 0.0]}", {&q});
  EXPECT_TRUE(resumed->load_state_dict(state).empty());
  p.grad = q.grad = Tensor::from<float>({0.5f, -0.5f}, {2});
  adam->step();
  resumed->step();
  EXPECT_TRUE(bitwise_equal(p.value, q.value));
}

TEST(Optimizer, SavesStateInTheReferenceLayout) {
  const WeightLayout conv{WeightLayout::kConv};
  MasterParameter p = master("conv.weight", testing::uniform({2, 3, 3, 4}, -1, 1, 1), conv);  // OHWI
  const auto sgd = optimizer_for("{type: SGD, lr: 0.1, momentum: 0.9}", {&p});
  p.grad = testing::uniform({2, 3, 3, 4}, -1, 1, 2);
  sgd->step();
  EXPECT_TENSOR_EQ(*sgd->state_dict().find("conv.weight.momentum_buffer"), testing::nhwc_to_nchw(p.grad));
}

TEST(Optimizer, NamesUnknownState) {
  MasterParameter p = master("p", Tensor::from<float>({1}, {1}));
  StateDict state;
  state.put("q.momentum_buffer", Tensor::from<float>({1}, {1}));
  const auto sgd = optimizer_for("{type: SGD, lr: 0.1, momentum: 0.9}", {&p});
  EXPECT_EQ(sgd->load_state_dict(state), std::vector<std::string>{"q.momentum_buffer"});
  state.put("p.momentum_buffer", Tensor::from<float>({1, 2}, {2}));
  EXPECT_THROW(sgd->load_state_dict(state), UserError);
}

TEST(Optimizer, RejectsBadConfigs) {
  MasterParameter p = master("p", Tensor::from<float>({1}, {1}));
  EXPECT_THROW(optimizer_for("{type: SGD, lr: -0.1}", {&p}), UserError);
  EXPECT_THROW(optimizer_for("{type: SGD, lr: 0.1, nesterov: true}", {&p}), UserError);
  EXPECT_THROW(optimizer_for("{type: Adam, lr: 0.1, betas: [0.9, 1.5]}", {&p}), UserError);
  EXPECT_THROW(optimizer_for("{type: SDG, lr: 0.1}", {&p}), UserError);
  EXPECT_THROW(optimizer_for("{type: SGD}", {&p}), UserError);
}

TEST(ParamGroups, FollowMmcvsRules) {
  const WeightLayout conv{WeightLayout::kConv};
  MasterParameter conv_w = master("backbone.conv1.weight", Tensor::zeros({4, 3, 3, 3}, DType::kF32), conv);
  MasterParameter conv_b = master("backbone.conv1.bias", Tensor::zeros({4}, DType::kF32));
  MasterParameter bn_w = master("backbone.bn1.weight", Tensor::zeros({4}, DType::kF32));
  MasterParameter bn_b = master("backbone.bn1.bias", Tensor::zeros({4}, DType::kF32));
  MasterParameter dw_w = master("head.dw.weight", Tensor::zeros({4, 3, 3, 1}, DType::kF32), conv);
  MasterParameter query = master("head.query_embed.weight", Tensor::zeros({4, 4}, DType::kF32));
  const std::string yaml = R"({type: SGD, lr: 0.1, weight_decay: 0.01, paramwise_cfg: {
      bias_lr_mult: 2, bias_decay_mult: 0, norm_decay_mult: 0.5, dwconv_decay_mult: 3,
      custom_keys: {head: {lr_mult: 7}, head.query: {lr_mult: 10, decay_mult: 0}}}})";
  const ConfigNode cfg = parse_config(yaml);
  const auto optimizer = build<Optimizer>(cfg);
  const auto groups = build_param_groups(cfg, *optimizer, {&conv_w, &conv_b, &bn_w, &bn_b, &dw_w, &query});
  ASSERT_EQ(groups.size(), 6u);
  const double expected[6][2] = {{0.1, 0.01}, {0.2, 0}, {0.1, 0.005}, {0.1, 0.005}, {0.7, 0.01}, {1, 0}};
  for (int i = 0; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(groups[i].lr, expected[i][0]) << i;
    EXPECT_DOUBLE_EQ(groups[i].weight_decay, expected[i][1]) << i;
  }
  require_all_read(cfg);
}

}  // namespace
}  // namespace osprey
