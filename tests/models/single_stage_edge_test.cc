#include <cmath>

#include "core/base/logging.h"
#include "core/ops/reduce.h"
#include "tests/models/tiny_detector.h"

// What must hold for every single-stage detector beside the reference's numbers.
namespace osprey::testing {
namespace {

class SingleStageEdge : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Detector> make(const std::vector<std::string>& overrides = {}) const {
    return make_detector(GetParam(), overrides);
  }
  // With drawn weights every score is near the prior.
  std::unique_ptr<Detector> make_for_testing(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), "test_cfg.score_thr=0.0");
    auto detector = make(overrides);
    detector->train(false);
    return detector;
  }
};

TEST_P(SingleStageEdge, ImagesWithoutObjectsGiveFiniteLossesAndGradients) {
  for (const std::vector<size_t>& without : {std::vector<size_t>{1}, {0, 1}}) {
    const auto detector = make();
    Batch batch = make_batch();
    for (const size_t image : without) remove_objects(batch, image);
    const LossDict losses = detector->forward_train(batch);
    EXPECT_EQ(names_of(losses), (std::vector<std::string>{"loss_cls", "loss_bbox"}));
    EXPECT_GT(losses.entries()[0].second.value().item(), 0);
    EXPECT_EQ(losses.entries()[1].second.value().item() == 0, without.size() == 2);
    expect_finite_losses_and_gradients(*detector, losses);
  }
}

TEST_P(SingleStageEdge, TheLossOfNegativesDoesNotDependOnTheNumberOfImages) {
  const auto detector = make();
  Batch batch = make_batch();
  for (const size_t image : {0, 1}) remove_objects(batch, image);
  Batch one = batch;
  one.img = batch.img.slice(0, 1);
  one.img_metas.resize(1);
  one.gt_bboxes.resize(1);
  one.gt_labels.resize(1);
  // Divided by one counted positive an image; the second image only has other pixels.
  const double both = total_of(detector->forward_train(batch)),
               first = total_of(detector->forward_train(one));
  EXPECT_NEAR(both, first, 0.2 * first);
}

TEST_P(SingleStageEdge, SeveralImagesAtOnceEqualOneAtATime) {
  const auto detector = make_for_testing();
  const Batch batch = make_batch();
  const DetectionResult together = detector->simple_test(batch, true).at(0);
  const DetectionResult alone = detector->simple_test(first_image(batch), true).at(0);
  ASSERT_GT(alone.bboxes.dim(0), 0);
  EXPECT_FALSE(alone.has_masks);
  EXPECT_TENSOR_NEAR(together.bboxes, alone.bboxes, 1e-3, 0);
  EXPECT_TENSOR_EQ(together.labels, alone.labels);
}

TEST_P(SingleStageEdge, ResultsAreGroupedByClassBestFirst) {
  const auto detector = make_for_testing();
  const DetectionResult result = detector->simple_test(first_image(make_batch()), true).at(0);
  for (int64_t i = 1; i < result.labels.numel(); ++i) {
    const int64_t* labels = result.labels.data<int64_t>();
    ASSERT_LE(labels[i - 1], labels[i]);
    if (labels[i - 1] == labels[i]) {
      EXPECT_GE(result.scores.data<float>()[i - 1], result.scores.data<float>()[i]);
    }
  }
}

TEST_P(SingleStageEdge, WithoutRescaleBoxesAreInNetworkPixels) {
  const auto detector = make_for_testing();
  const Batch batch = first_image(make_batch());
  const auto [w, h, w2, h2] = batch.img_metas[0].scale_factor;
  const std::vector<double> network = detector->simple_test(batch, false).at(0).bboxes.to_doubles();
  const DetectionResult file = detector->aug_test({batch}, true).at(0);
  const DetectionResult back = detector->aug_test({batch}, false).at(0);
  ASSERT_EQ(back.bboxes.shape(), file.bboxes.shape());
  for (int64_t i = 0; i < file.bboxes.dim(0); ++i) {
    EXPECT_NEAR(back.bboxes.data<float>()[i * 4], file.bboxes.data<float>()[i * 4] * w, 1e-3);
    EXPECT_NEAR(back.bboxes.data<float>()[i * 4 + 3], file.bboxes.data<float>()[i * 4 + 3] * h, 1e-3);
  }
  const auto [limit_h, limit_w] = batch.img_metas[0].img_shape;
  for (size_t i = 0; i < network.size(); ++i) {
    EXPECT_LE(network[i], static_cast<double>(i % 2 == 0 ? limit_w : limit_h));
  }
}

TEST_P(SingleStageEdge, AnImageAndItsCopyGiveTheImagesDetections) {
  const auto detector = make_for_testing();
  const Batch batch = first_image(make_batch());
  const DetectionResult plain = detector->simple_test(batch, true).at(0);
  const DetectionResult twice = detector->aug_test({batch, batch}, true).at(0);
  ASSERT_EQ(twice.bboxes.dim(0), plain.bboxes.dim(0));
  EXPECT_TENSOR_NEAR(twice.bboxes, plain.bboxes, 1e-3, 0);
  EXPECT_TENSOR_EQ(twice.labels, plain.labels);
}

TEST_P(SingleStageEdge, FlippedResultsAreFlippedBack) {
  expect_flipped_results_to_be_flipped_back(*make_for_testing());
}

TEST_P(SingleStageEdge, LimitsOfTheTestConfigHold) {
  const auto few = make_for_testing({"test_cfg.max_per_img=3"});
  const Batch batch = first_image(make_batch());
  EXPECT_EQ(few->simple_test(batch, true).at(0).bboxes.dim(0), 3);
  const auto large = make_for_testing({"test_cfg.min_bbox_size=40"});
  const std::vector<double> boxes = large->simple_test(batch, false).at(0).bboxes.to_doubles();
  ASSERT_FALSE(boxes.empty());
  for (size_t i = 0; i < boxes.size(); i += 4) {
    EXPECT_GE(boxes[i + 2] - boxes[i], 40);
    EXPECT_GE(boxes[i + 3] - boxes[i + 1], 40);
  }
  const auto none = make_for_testing({"test_cfg.score_thr=0.999"});
  EXPECT_EQ(none->simple_test(batch, true).at(0).bboxes.shape(), (Shape{0, 4}));
}

TEST_P(SingleStageEdge, SoftNmsDecaysInsteadOfDropping) {
  const Batch batch = first_image(make_batch());
  const auto hard = make_for_testing({"test_cfg.max_per_img=-1"});
  const auto soft = make_for_testing(
      {"test_cfg.max_per_img=-1", "test_cfg.nms={_delete_: true, type: soft_nms, min_score: 0.0}"});
  EXPECT_GT(soft->simple_test(batch, true).at(0).bboxes.dim(0),
            hard->simple_test(batch, true).at(0).bboxes.dim(0));
}

TEST_P(SingleStageEdge, HalfPrecisionGivesNearlyTheSameLosses) {
  const Batch batch = make_batch();
  const LossDict single = make()->forward_train(batch);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const auto half_detector = make();
    half_detector->convert_precision(dtype);
    const LossDict half = half_detector->forward_train(batch);
    EXPECT_NEAR(total_of(half), total_of(single), 0.05 * total_of(single));
    expect_finite_losses_and_gradients(*half_detector, half);
    for (const auto& [name, value] : half.entries()) EXPECT_EQ(value.dtype(), DType::kF32) << name;
  }
}

TEST_P(SingleStageEdge, NonFiniteBoxesAreLeftOutOfTheResult) {
  const auto detector = make_for_testing();
  for (const auto& [name, parameter] : detector->named_parameters()) {
    if (name == "bbox_head.retina_reg.bias") parameter->variable.mutable_value().fill(NAN);
  }
  EXPECT_EQ(detector->simple_test(first_image(make_batch()), true).at(0).bboxes.dim(0), 0);
}

TEST_P(SingleStageEdge, LabelsBeyondTheClassesAreNamed) {
  const auto detector = make({"model.bbox_head.num_classes=3"});
  Batch batch = make_batch();
  batch.gt_labels[0] = Tensor::full(batch.gt_labels[0].shape(), 3, DType::kI64);
  const std::string message = user_error(*detector, batch);
  EXPECT_NE(message.find("bbox_head"), std::string::npos) << message;
  EXPECT_NE(message.find("label 3, allowed are 0..2"), std::string::npos) << message;
}

TEST_P(SingleStageEdge, BoxesMayBeRegressedByTheirOverlap) {
  const auto detector =
      make({"model.bbox_head.reg_decoded_bbox=true",
            "model.bbox_head.loss_bbox={_delete_: true, type: GIoULoss, loss_weight: 2.0}"});
  const LossDict losses = detector->forward_train(make_batch());
  EXPECT_GT(losses.entries()[1].second.value().item(), 0);
  EXPECT_LT(losses.entries()[1].second.value().item(), 2 * 2);  // 1 - GIoU lies in [0, 2]
  expect_finite_losses_and_gradients(*detector, losses);
}

// With softmax there is a background channel, and anchors are sampled.
TEST_P(SingleStageEdge, SoftmaxScoresAndSampledAnchorsWork) {
  const std::vector<std::string> overrides = {
      "model.bbox_head.num_classes=7", "model.bbox_head.loss_cls={_delete_: true, type: CrossEntropyLoss}",
      "train_cfg.sampler={type: RandomSampler, num: 64, pos_fraction: 0.5, add_gt_as_proposals: false}"};
  const auto detector = make(overrides);
  Batch batch = make_batch();
  batch.rng_seed = 5;
  const double first = total_of(detector->forward_train(batch));
  EXPECT_EQ(total_of(detector->forward_train(batch)), first);
  batch.rng_seed = 6;
  const LossDict losses = detector->forward_train(batch);
  EXPECT_NE(total_of(losses), first);
  expect_finite_losses_and_gradients(*detector, losses);
  for (const auto& [name, parameter] : detector->named_parameters()) {
    if (name == "bbox_head.retina_cls.bias") {
      EXPECT_EQ(parameter->variable.value().numel(), 9 * 8);
    }
  }
  const auto tester = make_for_testing(overrides);
  const DetectionResult result = tester->simple_test(first_image(make_batch()), true).at(0);
  ASSERT_GT(result.labels.numel(), 0);
  for (const int64_t label : result.labels.to_vector<int64_t>()) EXPECT_LT(label, 7);
}

TEST_P(SingleStageEdge, ClassesOfTheHeadAreReported) {
  const auto heads = make()->num_classes_by_head();
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].first, "bbox_head");
  EXPECT_EQ(heads[0].second, 80);
}

INSTANTIATE_TEST_SUITE_P(Detectors, SingleStageEdge, ::testing::Values("retinanet"),
                         [](const auto& test) { return std::string(test.param); });

std::string build_error(const std::string& name, const std::vector<std::string>& overrides) {
  try {
    make_detector(name, overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(DenseHeads, AreRefusedWhereTheyDoNotFit) {
  const std::string rpn = build_error(
      "retinanet",
      {"model.bbox_head={_delete_: true, type: RPNHead, in_channels: 16, anchor_generator: {type: "
       "AnchorGenerator, scales: [8], ratios: [1.0], strides: [8, 16, 32, 64, 128]}}",
       "test_cfg.max_per_img=20"});
  EXPECT_NE(rpn.find("proposes regions only"), std::string::npos) << rpn;
  const std::string retina = build_error(
      "faster_rcnn", {"model.rpn_head={_delete_: true, type: RetinaHead, num_classes: 2, in_channels: 16}",
                      "test_cfg.rpn.score_thr=0.05"});
  EXPECT_NE(retina.find("does not propose regions"), std::string::npos) << retina;
}

}  // namespace
}  // namespace osprey::testing
