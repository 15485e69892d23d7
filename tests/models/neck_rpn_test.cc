#include <nlohmann/json.hpp>

#include "models/dense_heads/rpn_head.h"
#include "models/necks/fpn.h"
#include "tests/models/anchor_golden.h"
#include "tests/models/model_golden.h"

namespace osprey::testing {
namespace {

Variables golden_maps(const Golden& golden, const std::string& prefix) {
  Variables maps;
  for (int i = 0; golden.has(prefix + std::to_string(i)); ++i) {
    maps.emplace_back(nchw_to_nhwc(golden.tensor(prefix + std::to_string(i))), /*requires_grad=*/true);
  }
  return maps;
}

class FPNGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(FPNGolden, MatchesTheReference) {
  const std::string file = "neck_rpn/" + GetParam();
  const Golden golden = Golden::open(file);
  const auto neck = build<Neck>(load_config(Golden::find_file(file + ".yaml"))["neck"]);
  neck->assign_paths();
  load_golden_weights(*neck, golden, "weight/");
  Variables inputs = golden_maps(golden, "in/");

  std::map<std::string, double> tolerances =
      measured_sensitivity(*neck, [&] { probe_loss(neck->forward(inputs)).backward(); });
  for (auto& [name, change] : tolerances) change = golden_tolerance(0, change);
  for (Variable& input : inputs) input.zero_grad();

  const Variables outs = neck->forward(inputs);
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor& expected = golden.tensor("out/" + std::to_string(i));
    EXPECT_LE(relative_l2(nhwc_to_nchw(outs[i].value()), expected), 2e-6) << "level " << i;
  }
  EXPECT_FALSE(golden.has("out/" + std::to_string(outs.size())));

  const Variable loss = probe_loss(outs);
  EXPECT_NUMBER_NEAR(loss.value().item(), golden.tensor("loss").item(), 1e-6, 0);
  loss.backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& expected = golden.tensor("grad_in/" + std::to_string(i));
    const Tensor& grad = inputs[i].grad();  // undefined for a level below start_level
    const Tensor actual = grad.defined() ? nhwc_to_nchw(grad) : Tensor::zeros_like(expected);
    EXPECT_LE(relative_l2(actual, expected), 1e-5) << "level " << i;
  }
  expect_golden_gradients(*neck, golden, tolerances, 1e-5);

  neck->commit_buffers();
  for (const auto& [name, buffer] : neck->named_buffers()) {
    EXPECT_TENSOR_NEAR(buffer->value.reshape({-1}), golden.tensor("post/" + name), 1e-6, 1e-5) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, FPNGolden, ::testing::ValuesIn(Golden::fixtures("neck_rpn", "fpn")),
                         [](const auto& test) { return test_name(test.param); });

// A case that is neither would be run by nothing.
TEST(NeckRPNGolden, EveryCaseIsANeckOrAnRPN) {
  EXPECT_EQ(Golden::fixtures("neck_rpn").size(),
            Golden::fixtures("neck_rpn", "fpn").size() + Golden::fixtures("neck_rpn", "rpn").size());
}

TEST(FPNTest, ContradictingLevelsAreRefused) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      FPN fpn(parse_config(text));
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("{in_channels: [8, 16], out_channels: 4, num_outs: 1}").find("num_outs 1 is less"),
            std::string::npos);
  EXPECT_NE(message("{in_channels: [8, 16], out_channels: 4, num_outs: 2, start_level: 2}").find("0..1"),
            std::string::npos);
  EXPECT_NE(message("{in_channels: [8, 16], out_channels: 4, num_outs: 2, add_extra_convs: on_top}")
                .find("on_lateral"),
            std::string::npos);
}

class RPNGolden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string file = "neck_rpn/" + GetParam();
    golden_ = Golden::open(file);
    const ConfigNode root = load_config(Golden::find_file(file + ".yaml"));
    head_ = build<DenseHead>(root["rpn_head"]
                                 .with("train_cfg", root["train_cfg"]["rpn"])
                                 .with("proposal_cfg", root["train_cfg"]["rpn_proposal"])
                                 .with("test_cfg", root["test_cfg"]["rpn"]));
    head_->assign_paths("rpn_head");
    load_golden_weights(*head_, golden_, "weight/");
    feats_ = golden_maps(golden_, "in/");
    for (const auto& meta : golden_.json()["img_metas"]) {
      ImgMeta img_meta;
      img_meta.img_shape = {meta["img_shape"][0], meta["img_shape"][1]};
      img_meta.pad_shape = {meta["pad_shape"][0], meta["pad_shape"][1]};
      batch_.gt_bboxes.push_back(golden_.tensor("gt_bboxes/" + std::to_string(batch_.img_metas.size())));
      batch_.img_metas.push_back(img_meta);
    }
  }

  Golden golden_;
  std::unique_ptr<DenseHead> head_;
  Variables feats_;
  Batch batch_;
};

TEST_P(RPNGolden, LossesAndGradientsMatchTheReference) {
  std::map<std::string, double> tolerances =
      measured_sensitivity(*head_, [&] { head_->forward_train(feats_, batch_).losses.total().backward(); });
  for (auto& [name, change] : tolerances) change = golden_tolerance(0, change);
  for (Variable& feat : feats_) feat.zero_grad();

  const LossDict losses = head_->forward_train(feats_, batch_).losses;
  for (const auto& [name, loss] : losses.entries()) {
    EXPECT_NUMBER_NEAR(loss.value().item(), golden_.tensor(name).item(), 0, 1e-5) << name;
  }
  losses.total().backward();
  for (size_t l = 0; l < feats_.size(); ++l) {
    const Tensor& expected = golden_.tensor("grad_in/" + std::to_string(l));
    EXPECT_LE(relative_l2(nhwc_to_nchw(feats_[l].grad()), expected), 2e-5) << "level " << l;
  }
  expect_golden_gradients(*head_, golden_, tolerances, 1e-5);
}

TEST_P(RPNGolden, MapsMatchTheReference) {
  std::map<std::string, Tensors> maps;  // by layer
  set_op_observer([&](const OpEvent& event) {
    if (!event.backward && std::string(event.op) == "conv2d") maps[event.module_path].push_back(event.value);
  });
  head_->forward_train(feats_, batch_);
  set_op_observer(nullptr);
  for (size_t l = 0; l < feats_.size(); ++l) {
    for (const char* what : {"cls", "reg"}) {
      const Tensor map = nhwc_to_nchw(maps.at(str_cat("rpn_head.rpn_", what)).at(l));
      EXPECT_LE(relative_l2(map, golden_.tensor(str_cat(what, "/", l))), 1e-5) << what << " " << l;
    }
  }
}

TEST_P(RPNGolden, AnchorsAndTargetsMatchTheReference) {
  const ConfigNode root = load_config(Golden::find_file("neck_rpn/" + GetParam() + ".yaml"));
  const AnchorGenerator generator(root["rpn_head"]["anchor_generator"]);
  std::vector<MapSize> sizes;
  for (const auto& size : golden_.json()["featmap_sizes"]) sizes.push_back({size[0], size[1]});
  const Tensors anchors = generator.grid_anchors(sizes);
  for (size_t l = 0; l < sizes.size(); ++l) {
    const std::string level = "/" + std::to_string(l);
    EXPECT_TENSOR_EQ(generator.base_anchors()[l], golden_.tensor("base_anchors" + level));
    EXPECT_TENSOR_EQ(anchors[l], golden_.tensor("anchors" + level));
    for (size_t i = 0; i < batch_.img_metas.size(); ++i) {
      EXPECT_TENSOR_EQ(generator.valid_flags(sizes, batch_.img_metas[i].pad_shape)[l],
                       golden_.tensor("valid/" + std::to_string(i) + level));
    }
  }
  expect_golden_anchor_targets(
      root["rpn_head"], root["train_cfg"]["rpn"], sizes, batch_, golden_,
      [](const std::string& what, size_t level) { return what + "/" + std::to_string(level); },
      "num_total_pos_neg");
}

TEST_P(RPNGolden, ProposalsMatchTheReference) {
  const Tensors train = head_->forward_train(feats_, batch_).proposals;
  const Tensors test = head_->simple_test_rpn(feats_, batch_.img_metas);
  for (size_t i = 0; i < batch_.img_metas.size(); ++i) {
    const std::string image = std::to_string(i);
    expect_same_boxes(train[i], {}, golden_.tensor("proposals_train/" + image), {}, 1e-3, 1e-6);
    expect_same_boxes(test[i], {}, golden_.tensor("proposals_test/" + image), {}, 1e-3, 1e-6);
  }
}

TEST_P(RPNGolden, NonFiniteProposalsMakeTheLossNaN) {
  Tensor& weight = head_->named_parameters().back().second->variable.mutable_value();  // rpn_reg.bias
  weight.mutable_data<float>()[0] = NAN;
  const DenseHead::TrainResult result = head_->forward_train(feats_, batch_);
  EXPECT_TRUE(std::isnan(result.losses.total().value().item()));
  for (const Tensor& proposals : result.proposals) EXPECT_TRUE(all_finite(proposals));
}

TEST_P(RPNGolden, ImagesWithoutObjectsGiveFiniteLossesAndGradients) {
  for (Tensor& bboxes : batch_.gt_bboxes) bboxes = Tensor({0, 4}, DType::kF32);
  const LossDict losses = head_->forward_train(feats_, batch_).losses;
  ASSERT_EQ(losses.entries().size(), 2u);
  EXPECT_GT(losses.entries()[0].second.value().item(), 0);
  EXPECT_EQ(losses.entries()[1].second.value().item(), 0);
  losses.total().backward();
  for (const auto& [name, parameter] : head_->named_parameters()) {
    ASSERT_TRUE(parameter->variable.grad().defined()) << name;
    EXPECT_TRUE(all_finite(parameter->variable.grad())) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RPNGolden, ::testing::ValuesIn(Golden::fixtures("neck_rpn", "rpn")),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace osprey::testing
