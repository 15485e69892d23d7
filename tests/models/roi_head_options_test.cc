#include <map>

#include "tests/models/tiny_detector.h"

// Options of RoI heads that no fixture has: every key must do what it says.
namespace osprey::testing {
namespace {

std::map<std::string, Shape> shapes_of(Detector& detector) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, parameter] : detector.named_parameters()) {
    shapes[name] = parameter->layout.to_reference(parameter->variable.value()).shape();
  }
  return shapes;
}

void expect_trains_and_tests(Detector& detector) {
  expect_finite_losses_and_gradients(detector, detector.forward_train(make_batch()));
  detector.train(false);
  const DetectionResult result = detector.simple_test(first_image(make_batch()), /*rescale=*/true).at(0);
  EXPECT_GT(result.bboxes.dim(0), 0);
  EXPECT_EQ(result.masks.size(), static_cast<size_t>(result.bboxes.dim(0)));
}

constexpr char kEveryScore[] = "test_cfg.rcnn.score_thr=0.0";

// Wu & He, "Group Normalization", section 4.2.
TEST(RoIHeadOptions, FourConvolutionsAndGroupNorm) {
  const auto detector = make_detector(
      "mask_rcnn",
      {kEveryScore,
       "model.roi_head.bbox_head={type: Shared4Conv1FCBBoxHead, conv_out_channels: 12, norm_cfg: {type: GN, "
       "num_groups: 4}}",
       "model.roi_head.mask_head={norm_cfg: {type: GN, num_groups: 4}}"});
  auto shapes = shapes_of(*detector);
  const std::string box = "roi_head.bbox_head.", mask = "roi_head.mask_head.";
  EXPECT_EQ(shapes.at(box + "shared_convs.3.conv.weight"), (Shape{12, 12, 3, 3}));
  EXPECT_EQ(shapes.at(box + "shared_convs.3.gn.weight"), (Shape{12}));
  EXPECT_EQ(shapes.count(box + "shared_convs.0.conv.bias"), 0u);  // the norm has one
  EXPECT_EQ(shapes.at(box + "shared_fcs.0.weight")[1], 12 * 7 * 7);
  EXPECT_EQ(shapes.count(mask + "convs.0.gn.weight"), 1u);
  expect_trains_and_tests(*detector);
}

TEST(RoIHeadOptions, SyncBatchNormIsBatchNormOnOneDevice) {
  const auto detector = make_detector(
      "mask_rcnn", {kEveryScore,
                    "model.roi_head.bbox_head={type: Shared4Conv1FCBBoxHead, conv_out_channels: 8, "
                    "norm_cfg: {type: SyncBN}}"});
  EXPECT_EQ(shapes_of(*detector).count("roi_head.bbox_head.shared_convs.0.bn.weight"), 1u);
  expect_trains_and_tests(*detector);
}

TEST(RoIHeadOptions, ClassAgnosticBoxesAndMasks) {
  const auto detector =
      make_detector("mask_rcnn", {kEveryScore, "model.roi_head.bbox_head.reg_class_agnostic=true",
                                  "model.roi_head.mask_head.class_agnostic=true"});
  auto shapes = shapes_of(*detector);
  EXPECT_EQ(shapes.at("roi_head.bbox_head.fc_reg.weight")[0], 4);
  EXPECT_EQ(shapes.at("roi_head.mask_head.conv_logits.weight")[0], 1);
  expect_trains_and_tests(*detector);
}

// 1 - IoU lies in [0, 1], 1 - GIoU in [0, 2], DIoU and CIoU add at most 1 each; over a quarter of the RoIs.
TEST(RoIHeadOptions, OverlapLossesRegressDecodedBoxes) {
  for (const std::string type : {"IoULoss, linear: true", "GIoULoss", "DIoULoss", "CIoULoss"}) {
    const auto detector =
        make_detector("mask_rcnn", {"model.roi_head.bbox_head={reg_decoded_bbox: true, loss_bbox: {_delete_: "
                                    "true, type: " +
                                    type + "}}"});
    const LossDict losses = detector->forward_train(make_batch());
    for (const auto& [name, value] : losses.entries()) {
      if (name != "loss_bbox") continue;
      EXPECT_GT(value.value().item(), 0) << type;
      EXPECT_LT(value.value().item(), 3) << type;
    }
    expect_finite_losses_and_gradients(*detector, losses);
  }
}

// Pang et al., "Libra R-CNN".
TEST(RoIHeadOptions, BalancedSamplersTrain) {
  const std::string sampler =
      "{_delete_: true, type: CombinedSampler, num: 64, pos_fraction: 0.25, add_gt_as_proposals: true, "
      "pos_sampler: {type: InstanceBalancedPosSampler}, neg_sampler: {type: IoUBalancedNegSampler, "
      "floor_thr: "
      "-1, floor_fraction: 0, num_bins: 3}}";
  const auto detector = make_detector("mask_rcnn", {"train_cfg.rcnn.sampler=" + sampler});
  Batch batch = make_batch();
  batch.rng_seed = 3;
  const double first = total_of(detector->forward_train(batch));
  EXPECT_EQ(total_of(detector->forward_train(batch)), first);
  batch.rng_seed = 4;
  const LossDict losses = detector->forward_train(batch);
  EXPECT_NE(total_of(losses), first);
  expect_finite_losses_and_gradients(*detector, losses);
}

TEST(RoIHeadOptions, SoftNmsDecaysInsteadOfDropping) {
  const auto count = [](const std::vector<std::string>& nms) {
    std::vector<std::string> overrides = {"test_cfg.rcnn.score_thr=0.05", "test_cfg.rcnn.max_per_img=1000"};
    overrides.insert(overrides.end(), nms.begin(), nms.end());
    const auto detector = make_detector("faster_rcnn", overrides);
    detector->train(false);
    return detector->simple_test(first_image(make_batch()), true).at(0).bboxes.dim(0);
  };
  EXPECT_GT(
      count({"test_cfg.rcnn.nms={_delete_: true, type: soft_nms, iou_threshold: 0.3, min_score: 0.001}"}),
      count({}));
}

TEST(RoIHeadOptions, HardExamplesNeedARoIHead) {
  const auto detector =
      make_detector("faster_rcnn", {"train_cfg.rpn.sampler={_delete_: true, type: OHEMSampler, "
                                    "num: 16, pos_fraction: 0.5, add_gt_as_proposals: false}"});
  EXPECT_NE(user_error(*detector, make_batch()).find("train_cfg.rcnn.sampler"), std::string::npos);
}

}  // namespace
}  // namespace osprey::testing
