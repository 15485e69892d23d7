#include "models/backbones/resnet.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/models/model_golden.h"

namespace osprey::testing {
namespace {

std::map<std::string, double> gradient_tolerances(const nlohmann::json& json) {
  std::map<std::string, double> tolerances;
  for (const auto& [name, error] : json["relative_l2_to_float64"]["grad"].items()) {
    const double perturbed = json["grad_change_input_perturbed_1e6"].value(name, 0.0);
    tolerances[name] = golden_tolerance(error.get<double>(), perturbed);
  }
  return tolerances;
}

// The cases with stored weights; full_size_test has the other.
std::vector<std::string> cases() {
  std::vector<std::string> cases = Golden::fixtures("backbone");
  cases.erase(std::remove_if(cases.begin(), cases.end(),
                             [](const std::string& name) { return ends_with(name, "_formula"); }),
              cases.end());
  return cases;
}

class BackboneGolden : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string file = "backbone/" + GetParam();
    golden_ = Golden::open(file);
    weights_ = Golden::open(file + ".weights");
    backbone_ = build<Backbone>(load_config(Golden::find_file(file + ".yaml"))["backbone"]);
    backbone_->assign_paths();
    load_golden_weights(*backbone_, weights_);
  }

  void expect_outs(const Variables& outs, const std::string& prefix) {
    const auto& errors = golden_.json()["relative_l2_to_float64"]["out"];
    ASSERT_EQ(outs.size(), errors.size());
    for (size_t i = 0; i < outs.size(); ++i) {
      const Tensor& expected = golden_.tensor(prefix + std::to_string(i));
      EXPECT_LE(relative_l2(nhwc_to_nchw(outs[i].value()), expected), golden_tolerance(errors[i], 0))
          << prefix << i;
    }
  }

  Golden golden_, weights_;
  std::unique_ptr<Backbone> backbone_;
};

TEST_P(BackboneGolden, TrainingMatchesTheReference) {
  backbone_->train();
  const Variable img(nchw_to_nhwc(golden_.tensor("img")), /*requires_grad=*/true);
  const Variables outs = backbone_->forward(img);
  expect_outs(outs, "out/");
  const Variable loss = probe_loss(outs);
  // The loss is a sum of probes of both signs: its error is relative to the outputs', not to its own size.
  EXPECT_NUMBER_NEAR(loss.value().item(), golden_.tensor("loss").item(), 2e-7, 0);
  loss.backward();
  const double img_error = golden_.json()["relative_l2_to_float64"]["grad_img"];
  EXPECT_LE(relative_l2(nhwc_to_nchw(img.grad()), golden_.tensor("grad_img")),
            golden_tolerance(img_error, 0));
  expect_golden_gradients(*backbone_, golden_, gradient_tolerances(golden_.json()), 1e-5);
}

// Which statistics move. Their values are judged by mask_rcnn_edge and fpn_bn where, as in the fixtures of
// this writing, post/ holds what was there before the forward (num_batches_tracked is 0).
TEST_P(BackboneGolden, FrozenAndEvaluatedNormsKeepTheirStatistics) {
  const ConfigNode cfg = load_config(Golden::find_file("backbone/" + GetParam() + ".yaml"))["backbone"];
  backbone_->train();
  backbone_->forward(nchw_to_nhwc(golden_.tensor("img")));
  backbone_->commit_buffers();
  for (const auto& [name, buffer] : backbone_->named_buffers()) {
    const std::string post = "post/" + name;
    if (golden_.has(post) && max_abs_diff(golden_.tensor(post), weights_.tensor(name)) > 0) {
      EXPECT_TENSOR_NEAR(buffer->value.reshape({-1}), golden_.tensor(post).reshape({-1}), 1e-6, 1e-5) << name;
    }
    if (!ends_with(name, "num_batches_tracked")) continue;
    const bool in_stem = starts_with(name, "bn1");
    const bool frozen = cfg.get("frozen_stages", -1) >= (in_stem ? 0 : name.at(5) - '0');
    EXPECT_EQ(buffer->value.item(), cfg.get("norm_eval", true) || frozen ? 0 : 1) << name;
  }
}

TEST_P(BackboneGolden, EvaluationMatchesTheReference) {
  backbone_->train(false);
  expect_outs(backbone_->forward(nchw_to_nhwc(golden_.tensor("img"))),
              golden_.has("eval_out/0") ? "eval_out/" : "out/");
}

INSTANTIATE_TEST_SUITE_P(Cases, BackboneGolden, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace osprey::testing
