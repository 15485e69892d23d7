#include <cmath>

#include "core/base/logging.h"
#include "tests/models/tiny_detector.h"

// What must hold for every two-stage detector beside the reference's numbers.
namespace osprey::testing {
namespace {

constexpr char kNoProposals[] = "train_cfg.rpn_proposal.min_bbox_size=1e6";

class DetectorEdge : public ::testing::TestWithParam<const char*> {};

TEST_P(DetectorEdge, OneImageWithoutObjects) {
  const auto detector = make_detector(GetParam());
  Batch batch = make_batch();
  const auto names = names_of(detector->forward_train(batch));
  remove_objects(batch, 1);
  const LossDict losses = detector->forward_train(batch);
  EXPECT_EQ(names_of(losses), names);
  expect_finite_losses_and_gradients(*detector, losses);
}

TEST_P(DetectorEdge, NoObjectsAtAllGiveNoBoxAndNoMaskLoss) {
  const auto detector = make_detector(GetParam());
  Batch batch = make_batch();
  const auto names = names_of(detector->forward_train(batch));
  remove_objects(batch, 0);
  remove_objects(batch, 1);
  const LossDict losses = detector->forward_train(batch);
  EXPECT_EQ(names_of(losses), names);
  for (const auto& [name, value] : losses.entries()) {
    const bool of_objects = name.find("bbox") != std::string::npos || name.find("mask") != std::string::npos;
    if (of_objects) {
      EXPECT_EQ(value.value().item(), 0) << name;
    }
  }
  expect_finite_losses_and_gradients(*detector, losses);
}

TEST_P(DetectorEdge, NoProposalsLeaveTheGroundTruths) {
  const auto detector = make_detector(GetParam(), {kNoProposals});
  expect_finite_losses_and_gradients(*detector, detector->forward_train(make_batch()));
}

TEST_P(DetectorEdge, NeitherProposalsNorObjects) {
  const auto detector = make_detector(GetParam(), {kNoProposals});
  Batch batch = make_batch();
  const auto names = names_of(detector->forward_train(batch));
  remove_objects(batch, 0);
  remove_objects(batch, 1);
  const LossDict losses = detector->forward_train(batch);
  EXPECT_EQ(names_of(losses), names);
  expect_finite_losses_and_gradients(*detector, losses);
}

TEST_P(DetectorEdge, NoProposalsAtTestTimeGiveEmptyResults) {
  const auto detector = make_detector(GetParam(), {"test_cfg.rpn.min_bbox_size=1e6"});
  detector->train(false);
  for (const DetectionResult& result : detector->simple_test(make_batch(), /*rescale=*/true)) {
    EXPECT_EQ(result.bboxes.shape(), (Shape{0, 4}));
    EXPECT_TRUE(result.masks.empty());
  }
}

TEST_P(DetectorEdge, SeveralImagesAtOnceEqualOneAtATime) {
  const auto detector = make_detector(GetParam(), {"test_cfg.rcnn.score_thr=0.0"});
  detector->train(false);
  const Batch batch = make_batch();
  const DetectionResult together = detector->simple_test(batch, true).at(0);
  const DetectionResult alone = detector->simple_test(first_image(batch), true).at(0);
  ASSERT_GT(alone.bboxes.dim(0), 0);
  EXPECT_TENSOR_NEAR(together.bboxes, alone.bboxes, 1e-3, 0);
  EXPECT_TENSOR_EQ(together.labels, alone.labels);
}

// The same image twice: averages change nothing. (NMS of the doubled proposals keeps one of each.)
TEST_P(DetectorEdge, AugmentationsThatDoNothingChangeNothing) {
  const auto detector = make_detector(GetParam(), {"test_cfg.rcnn.score_thr=0.0"});
  detector->train(false);
  Batch batch = first_image(make_batch());
  const DetectionResult plain = detector->simple_test(batch, true).at(0);
  const DetectionResult twice = detector->aug_test({batch, batch}, true).at(0);
  ASSERT_GT(plain.bboxes.dim(0), 0);
  EXPECT_TENSOR_NEAR(twice.bboxes, plain.bboxes, 1e-3, 0);
  EXPECT_TENSOR_NEAR(twice.scores, plain.scores, 1e-5, 0);
  EXPECT_TENSOR_EQ(twice.labels, plain.labels);
  ASSERT_EQ(twice.masks.size(), plain.masks.size());
  for (size_t i = 0; i < plain.masks.size(); ++i) {
    const double area_plain = area(from_rle(plain.masks[i])), area_twice = area(from_rle(twice.masks[i]));
    EXPECT_NEAR(area_twice, area_plain, 2 + 0.01 * area_plain);
  }
}

// An image and its mirror, given in either order: what the mirror alone says is mirrored back.
TEST_P(DetectorEdge, FlippedResultsAreFlippedBack) {
  const auto detector = make_detector(GetParam(), {"test_cfg.rcnn.score_thr=0.0"});
  detector->train(false);
  expect_flipped_results_to_be_flipped_back(*detector);
}

TEST_P(DetectorEdge, SamplingDependsOnTheSeedOfTheBatchAlone) {
  const auto detector = make_detector(GetParam(), {"train_cfg.rpn.sampler.num=64"});
  Batch batch = make_batch();
  batch.rng_seed = 5;
  const double first = total_of(detector->forward_train(batch));
  EXPECT_EQ(total_of(detector->forward_train(batch)), first);
  batch.rng_seed = 6;
  EXPECT_NE(total_of(detector->forward_train(batch)), first);
}

double loss_cls_of(const LossDict& losses) {
  for (const auto& [name, value] : losses.entries()) {
    if (name == "loss_cls" || name == "s0.loss_cls") return value.value().item();
  }
  return NAN;
}

// The mean loss of the hardest is above that of any others; the first stage sees the same proposals.
TEST_P(DetectorEdge, HardExampleMiningTrainsOnWhatTheHeadGetsWrong) {
  const bool cascade = std::string(GetParam()).find("rcnn") == std::string::npos ||
                       std::string(GetParam()).find("cascade") != std::string::npos;
  const auto with_sampler = [&](const std::string& type) {
    const std::string sampler =
        "{sampler: {_delete_: true, type: " + type + ", num: 48, pos_fraction: 0.25}}";
    return make_detector(GetParam(), {"train_cfg.rcnn=" + (cascade ? "{_each_: " + sampler + "}" : sampler)});
  };
  const Batch batch = make_batch();
  const auto detector = with_sampler("OHEMSampler");
  const LossDict losses = detector->forward_train(batch);
  EXPECT_GT(loss_cls_of(losses), loss_cls_of(with_sampler("RandomSampler")->forward_train(batch)));
  expect_finite_losses_and_gradients(*detector, losses);
}

// f16 keeps 11 bits, and discrete choices (proposals, samples) may differ: the losses agree roughly.
TEST_P(DetectorEdge, HalfPrecisionGivesNearlyTheSameLosses) {
  const auto detector = make_detector(GetParam());
  const Batch batch = make_batch();
  const LossDict single = detector->forward_train(batch);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const auto half_detector = make_detector(GetParam());
    half_detector->convert_precision(dtype);
    const LossDict half = half_detector->forward_train(batch);
    ASSERT_EQ(names_of(half), names_of(single));
    EXPECT_NEAR(total_of(half), total_of(single), 0.05 * total_of(single));
    expect_finite_losses_and_gradients(*half_detector, half);
    for (const auto& [name, value] : half.entries()) EXPECT_EQ(value.dtype(), DType::kF32) << name;
  }
}

TEST_P(DetectorEdge, ActivationCheckpointingChangesNoGradient) {
  const auto plain = make_detector(GetParam());
  const auto checkpointed = make_detector(GetParam(), {"model.backbone.with_cp=true"});
  const Batch batch = make_batch();
  plain->forward_train(batch).total().backward();
  checkpointed->forward_train(batch).total().backward();
  const auto expected = plain->named_parameters();
  const auto actual = checkpointed->named_parameters();
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& grad = expected[i].second->variable.grad();
    ASSERT_EQ(actual[i].second->variable.grad().defined(), grad.defined()) << expected[i].first;
    if (!grad.defined()) continue;
    EXPECT_LE(relative_l2(actual[i].second->variable.grad(), grad), 1e-5) << expected[i].first;
  }
}

TEST_P(DetectorEdge, LabelsBeyondTheClassesAreNamed) {
  const auto detector = make_detector(GetParam());
  Batch batch = make_batch();
  batch.gt_labels[0] = Tensor::full(batch.gt_labels[0].shape(), 9, DType::kI64);
  const std::string message = user_error(*detector, batch);
  EXPECT_NE(message.find("roi_head.bbox_head"), std::string::npos) << message;
  EXPECT_NE(message.find("label 9"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Detectors, DetectorEdge,
                         ::testing::Values("faster_rcnn", "mask_rcnn", "cascade_mask_rcnn", "htc"),
                         [](const auto& test) { return std::string(test.param); });

class CascadeEdge : public ::testing::TestWithParam<const char*> {};

// Only positives enter loss_bbox: without the guard a stage whose regression is broken elsewhere would hand
// NaN boxes on, the next stage would ignore them, and its losses would be finite.
TEST_P(CascadeEdge, NonFiniteRefinedBoxesMakeTheLossNaN) {
  const auto detector = make_detector(GetParam());
  for (const auto& [name, parameter] : detector->named_parameters()) {
    if (name == "roi_head.bbox_head.0.fc_reg.bias") parameter->variable.mutable_value().fill(NAN);
  }
  Batch batch = make_batch();
  remove_objects(batch, 0);
  remove_objects(batch, 1);
  const LossDict losses = detector->forward_train(batch);
  EXPECT_TRUE(std::isnan(total_of(losses)));
  for (const auto& [name, value] : losses.entries()) {
    EXPECT_EQ(std::isnan(value.value().item()), name == "s0.loss_bbox") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Detectors, CascadeEdge, ::testing::Values("cascade_mask_rcnn", "htc"),
                         [](const auto& test) { return std::string(test.param); });

TEST(HTCTest, MissingSemanticMapsNameTheTwoWaysOut) {
  const auto detector = make_detector("htc");
  Batch batch = make_batch();
  batch.gt_semantic_seg = Tensor();
  const std::string message = user_error(*detector, batch);
  EXPECT_NE(message.find("seg_prefix"), std::string::npos) << message;
  EXPECT_NE(message.find("semantic_head=null"), std::string::npos) << message;
}

TEST(HTCTest, SemanticLabelsBeyondTheClassesAreNamed) {
  const auto detector = make_detector("htc");
  Batch batch = make_batch();
  batch.gt_semantic_seg = Tensor::full(batch.gt_semantic_seg.shape(), 200, DType::kU8);
  EXPECT_NE(user_error(*detector, batch).find("label 200"), std::string::npos);
}

TEST(HTCTest, IgnoredSemanticMapsGiveZeroLoss) {
  const auto detector = make_detector("htc");
  Batch batch = make_batch();
  batch.gt_semantic_seg = Tensor::full(batch.gt_semantic_seg.shape(), 255, DType::kU8);
  const LossDict losses = detector->forward_train(batch);
  EXPECT_EQ(losses.entries()[2].first, "loss_semantic_seg");
  EXPECT_EQ(losses.entries()[2].second.value().item(), 0);
  expect_finite_losses_and_gradients(*detector, losses);
}

TEST(HTCTest, KeptFP32PartsMixWithHalfOnes) {
  for (const char* kept : {"backbone.layer2*", "neck.lateral_convs.1*", "rpn_head*", "roi_head.bbox_head*"}) {
    const auto detector = make_detector("htc");
    detector->convert_precision(DType::kF16, {kept});
    expect_finite_losses_and_gradients(*detector, detector->forward_train(make_batch()));
  }
}

TEST(HTCTest, BranchesCanBeTurnedOff) {
  for (const char* option : {"model.roi_head.interleaved=false", "model.roi_head.mask_info_flow=false",
                             "model.roi_head.semantic_fusion=[mask]"}) {
    const auto detector = make_detector("htc", {option});
    const LossDict losses = detector->forward_train(make_batch());
    EXPECT_EQ(losses.entries().size(), 15u) << option;
    EXPECT_TRUE(std::isfinite(total_of(losses))) << option;
  }
}

TEST(MaskRCNNTest, MissingMasksNameTheTransform) {
  const auto detector = make_detector("mask_rcnn");
  Batch batch = make_batch();
  batch.gt_masks.clear();
  EXPECT_NE(user_error(*detector, batch).find("with_mask: true"), std::string::npos);
}

// L1 between boxes in pixels: the deltas' loss times some ten pixels, and a gradient for every weight.
TEST(TwoStageTest, RegressionMayCompareDecodedBoxes) {
  const auto detector = make_detector("mask_rcnn", {"model.rpn_head.reg_decoded_bbox=true",
                                                    "model.roi_head.bbox_head.reg_decoded_bbox=true"});
  const auto plain = make_detector("mask_rcnn");
  const LossDict decoded = detector->forward_train(make_batch());
  const LossDict encoded = plain->forward_train(make_batch());
  for (size_t i = 0; i < decoded.entries().size(); ++i) {
    const auto& [name, value] = decoded.entries()[i];
    if (name.find("bbox") == std::string::npos) continue;
    EXPECT_GT(value.value().item(), 5 * encoded.entries()[i].second.value().item()) << name;
  }
  expect_finite_losses_and_gradients(*detector, decoded);
}

TEST(TwoStageTest, ClassesOfEveryHeadAreReported) {
  const auto heads = make_detector("htc")->num_classes_by_head();
  ASSERT_EQ(heads.size(), 6u);
  EXPECT_EQ(heads[0].first, "roi_head.bbox_head.0");
  EXPECT_EQ(heads[5].first, "roi_head.mask_head.2");
  EXPECT_EQ(heads[5].second, 5);
}

TEST(MaskRCNNTest, WithoutItsOwnExtractorTheMaskHeadSharesTheBoxFeatures) {
  const auto detector =
      make_detector("mask_rcnn", {"model.roi_head.mask_roi_extractor=null", "train_cfg.rcnn.mask_size=14"});
  expect_finite_losses_and_gradients(*detector, detector->forward_train(make_batch()));
}

}  // namespace
}  // namespace osprey::testing
