// Parts that no fixture of golden/ has, beside mmdetection 2.11's own classes (golden/roi_heads/heads_2_11).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/bbox/transforms.h"
#include "models/necks/pafpn.h"
#include "models/roi_heads/bbox_heads/double_convfc_bbox_head.h"
#include "models/roi_heads/shared_heads/res_layer.h"
#include "tests/devices.h"
#include "tests/models/tiny_detector.h"

namespace osprey::testing {
namespace {

class HeadsGolden : public ::testing::TestWithParam<Device> {
 protected:
  ConfigNode cfg(const std::string& name) const { return parse_config(golden_.text(name, "config")); }
  // The cases of mmdetection's class `type`.
  std::vector<std::string> cases_of(const std::string& type) const {
    std::vector<std::string> names;
    for (const std::string& name : golden_.cases()) {
      if (golden_.has_param(name, "config") && cfg(name).get("type", "DoubleConvFCBBoxHead") == type)
        names.push_back(name);
    }
    EXPECT_FALSE(names.empty()) << type;
    return names;
  }

  // Outputs, probe loss and every gradient of one case.
  template <typename Forward>
  void expect_agreement(const std::string& name, Module& module, const Forward& forward) const {
    SCOPED_TRACE(name);
    module.assign_paths();
    load_golden_weights(module, golden_, name + "/weight/");
    module.to(GetParam());
    Variables inputs;
    for (int i = 0; golden_.has(str_cat(name, "/in/", i)); ++i) {
      const Tensor map = nchw_to_nhwc(golden_.tensor(str_cat(name, "/in/", i)));
      inputs.emplace_back(map.to(GetParam()), /*requires_grad=*/true);
    }
    const Variables outs = forward(inputs);
    for (size_t i = 0; i < outs.size(); ++i) {
      const Tensor& expected = golden_.tensor(str_cat(name, "/out/", i));
      EXPECT_LE(relative_l2(as_reference(outs[i].value()), expected), 2e-6) << i;
    }
    const Variable loss = probe_loss(outs);
    EXPECT_NUMBER_NEAR(loss.value().item(), golden_.tensor(name + "/loss").item(), 2e-6, 1e-5);
    loss.backward();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string grad = str_cat(name, "/grad_in/", i);
      ASSERT_EQ(golden_.has(grad), inputs[i].grad().defined()) << grad;
      if (inputs[i].grad().defined()) {
        EXPECT_LE(relative_l2(as_reference(inputs[i].grad()), golden_.tensor(grad)), 1e-5) << grad;
      }
    }
    for (const auto& [parameter_name, parameter] : module.named_parameters()) {
      const Tensor grad = parameter->layout.to_reference(parameter->variable.grad().to(kCPU));
      EXPECT_LE(relative_l2(grad, golden_.tensor(name + "/grad/" + parameter_name)), 1e-5) << parameter_name;
    }
  }

  const Golden golden_ = Golden::open_shipped("roi_heads/heads_2_11");

 private:
  static Tensor as_reference(const Tensor& map) {
    return map.rank() == 4 ? nhwc_to_nchw(map.to(kCPU)) : map.to(kCPU);
  }
};

TEST_P(HeadsGolden, DoubleConvFCBBoxHead) {
  for (const std::string& name : cases_of("DoubleConvFCBBoxHead")) {
    DoubleConvFCBBoxHead head(cfg(name));
    expect_agreement(name, head, [&](const Variables& in) {
      const auto [cls_score, bbox_pred] = head.forward(in[0], in[1]);
      return Variables{cls_score, bbox_pred};
    });
  }
}

TEST_P(HeadsGolden, ResLayer) {
  for (const std::string& name : cases_of("ResLayer")) {
    ResLayer layer(cfg(name));
    layer.train();
    expect_agreement(name, layer, [&](const Variables& in) { return Variables{layer.forward(in[0])}; });
  }
}

TEST_P(HeadsGolden, PAFPN) {
  for (const std::string& name : cases_of("PAFPN")) {
    PAFPN neck(cfg(name));
    expect_agreement(name, neck, [&](const Variables& in) { return neck.forward(in); });
  }
}

TEST_P(HeadsGolden, RoIsAreScaledAboutTheirCenters) {
  const auto factor = static_cast<float>(golden_.number("scale_rois", "factor"));
  const Tensor scaled = scale_rois(golden_.tensor("scale_rois/in").to(GetParam()), factor);
  EXPECT_TENSOR_NEAR(scaled.to(kCPU), golden_.tensor("scale_rois/out"), 0, 1e-6);
  EXPECT_EQ(scale_rois(Tensor({0, 5}, DType::kF32, GetParam()), factor).shape(), (Shape{0, 5}));
}

INSTANTIATE_TEST_SUITE_P(Devices, HeadsGolden, ::testing::ValuesIn(devices_in_build()),
                         [](const auto& test) { return device_name(test.param); });

constexpr char kDoubleHead[] =
    "model.roi_head={type: DoubleHeadRoIHead, reg_roi_scale_factor: 1.3, bbox_head: {type: "
    "DoubleConvFCBBoxHead, "
    "num_convs: 1, num_fcs: 2, conv_out_channels: 16}}";

std::unique_ptr<Detector> make_double_head() {
  // Shared2FCBBoxHead's keys are the double head's, too.
  return make_detector("faster_rcnn", {kDoubleHead, "test_cfg.rcnn.score_thr=0.0"});
}

TEST(DoubleHeadRoIHead, TrainsAndTests) {
  const auto detector = make_double_head();
  expect_finite_losses_and_gradients(*detector, detector->forward_train(make_batch()));
  detector->train(false);
  EXPECT_GT(detector->simple_test(first_image(make_batch()), /*rescale=*/true).at(0).bboxes.dim(0), 0);
}

TEST(DoubleHeadRoIHead, AnImageWithoutObjectsCostsNoBox) {
  const auto detector = make_double_head();
  Batch batch = make_batch();
  for (size_t image = 0; image < batch.gt_bboxes.size(); ++image) remove_objects(batch, image);
  const LossDict losses = detector->forward_train(batch);
  for (const auto& [name, value] : losses.entries()) {
    if (name == "loss_bbox") {
      EXPECT_EQ(value.value().item(), 0);
    }
  }
  expect_finite_losses_and_gradients(*detector, losses);
}

TEST(DoubleHeadRoIHead, NeedsAHeadThatLooksTwice) {
  try {
    make_detector("faster_rcnn", {"model.roi_head={type: DoubleHeadRoIHead, reg_roi_scale_factor: 1.3}"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("must be DoubleConvFCBBoxHead"), std::string::npos)
        << error.what();
  }
}

// Both heads look through the shared one: half as large a map, with its channels.
TEST(SharedHead, BoxesAndMasksGoThroughIt) {
  const auto detector = make_detector(
      "mask_rcnn",
      {"test_cfg.rcnn.score_thr=0.0", "train_cfg.rcnn.mask_size=14",
       "model.roi_head.shared_head={type: ResLayer, depth: 50, stage: 1, base_channels: 4, norm_eval: false}",
       "model.roi_head.bbox_head={type: BBoxHead, with_avg_pool: true, roi_feat_size: 4, in_channels: 32}",
       "model.roi_head.mask_head={in_channels: 32, roi_feat_size: 7}"});
  expect_finite_losses_and_gradients(*detector, detector->forward_train(make_batch()));
  detector->train(false);
  const DetectionResult result = detector->simple_test(first_image(make_batch()), /*rescale=*/true).at(0);
  EXPECT_GT(result.bboxes.dim(0), 0);
  EXPECT_EQ(result.masks.size(), static_cast<size_t>(result.bboxes.dim(0)));
}

}  // namespace
}  // namespace osprey::testing
