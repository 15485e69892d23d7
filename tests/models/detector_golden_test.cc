#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/dense_heads/dense_head.h"
#include "models/detectors/single_stage_detector.h"
#include "models/detectors/two_stage_detector.h"
#include "models/roi_heads/mask_heads/semantic_head.h"
#include "tests/devices.h"
#include "tests/models/anchor_golden.h"
#include "tests/models/model_golden.h"

namespace osprey::testing {
namespace {

// The losses' names in the reference's order, which nlohmann::json forgets.
std::vector<std::string> loss_names(const std::string& file) {
  std::ifstream in(Golden::find_file(file + ".json"));
  const auto json = nlohmann::ordered_json::parse(in);
  std::vector<std::string> names;
  for (const auto& item : json["losses"].items()) names.push_back(item.key());
  return names;
}

// Both have the same rows, in whatever order, but for 1e-4 of the largest number.
void expect_same_rows(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const std::vector<double> a = actual.to(kCPU).to_doubles(), b = expected.to_doubles();
  const int64_t rows = expected.dim(0), columns = expected.dim(1);
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  std::vector<bool> taken(static_cast<size_t>(rows), false);
  for (int64_t i = 0; i < rows; ++i) {
    int64_t partner = -1;
    for (int64_t j = 0; j < rows && partner < 0; ++j) {
      double worst = 0;
      for (int64_t c = 0; c < columns; ++c)
        worst = std::max(worst, std::abs(a[j * columns + c] - b[i * columns + c]));
      if (!taken[j] && worst <= 1e-4 * largest) partner = j;
    }
    ASSERT_GE(partner, 0) << "no row like the reference's " << i;
    taken[partner] = true;
  }
}

// Every case on every device of the build.
class DetectorGolden : public ::testing::TestWithParam<std::tuple<std::string, Device>> {
 protected:
  void SetUp() override {
    const auto [name, device] = GetParam();
    const std::string file = "detectors/" + name;
    const ConfigNode cfg = golden_model_cfg(file);
    train_ = Golden::open(file + ".train");
    test_ = Golden::open(file + ".test");
    detector_ = build<Detector>(cfg);
    require_all_read(cfg);
    load_golden_weights(*detector_, Golden::open(file + ".weights"));
    detector_->to(device);
    const std::string inputs = train_.json()["inputs"];
    batch_ = golden_batch(Golden::open("detectors/" + inputs.substr(0, inputs.find('.'))));
    batch_.img = batch_.img.to(device);
  }

  double perturbed_loss() const { return train_.json()["perturbed_1e6_max_relative_change"]["loss"]; }

  std::map<std::string, double> gradient_tolerances() const {
    const double float64_error = train_.json()["float64_minus_float32"]["grad"];
    std::map<std::string, double> tolerances;
    for (const auto& [name, change] : train_.json()["perturbed_1e6_grad_change"].items()) {
      tolerances[name] = golden_tolerance(float64_error, change.get<double>());
    }
    return tolerances;
  }

  // Of a map that the fixture truncates only the first values count.
  void expect_mid(const std::string& name, const Variable& map) const {
    const Tensor& expected = train_.tensor("mid/" + name);
    const Tensor actual = nhwc_to_nchw(map.value().to(kCPU)).reshape({-1}).slice(0, expected.numel());
    EXPECT_LE(relative_l2(actual, expected.reshape({-1})), 2e-5) << name;
  }

  // Of convolutions and linear layers in one training step.
  std::map<std::string, Tensors> outputs_by_layer() {
    std::map<std::string, Tensors> outputs;
    set_op_observer([&](const OpEvent& event) {
      const std::string op = event.op;
      if (!event.backward && (op == "conv2d" || op == "linear"))
        outputs[event.module_path].push_back(event.value);
    });
    detector_->forward_train(batch_);
    set_op_observer(nullptr);
    return outputs;
  }

  Golden train_, test_;
  std::unique_ptr<Detector> detector_;
  Batch batch_;
};

TEST_P(DetectorGolden, LossesMatchTheReferenceInNameOrderAndValue) {
  detector_->train();
  const LossDict losses = detector_->forward_train(batch_);
  std::vector<std::string> names;
  for (const auto& [name, value] : losses.entries()) {
    names.push_back(name);
    EXPECT_NUMBER_NEAR(value.value().item(), train_.tensor("loss/" + name).item(), 0, 1e-4) << name;
  }
  names.push_back("loss");
  EXPECT_EQ(names, loss_names("detectors/" + std::get<0>(GetParam())));
  const double total = train_.tensor("loss/loss").item();
  const double float64_error = train_.json()["float64_minus_float32"]["loss"];
  EXPECT_NUMBER_NEAR(losses.total().value().item(), total, 0,
                     golden_tolerance(float64_error, perturbed_loss()));
}

// The maps of every level, the anchors' targets, the semantic branch and the proposals of a training step.
TEST_P(DetectorGolden, IntermediatesMatchTheReference) {
  detector_->train();
  const auto* two_stages = dynamic_cast<const TwoStageDetector*>(detector_.get());
  const Variables feats = two_stages
                              ? two_stages->extract_feat(batch_.img)
                              : dynamic_cast<const SingleStageDetector&>(*detector_).extract_feat(batch_.img);
  std::vector<MapSize> sizes;
  for (size_t l = 0; l < feats.size(); ++l) {
    sizes.push_back({feats[l].dim(1), feats[l].dim(2)});
    expect_mid("fpn." + std::to_string(l), feats[l]);
  }
  const ConfigNode cfg = golden_model_cfg("detectors/" + std::get<0>(GetParam()));
  expect_golden_anchor_targets(
      cfg[two_stages ? "rpn_head" : "bbox_head"], two_stages ? cfg["train_cfg"]["rpn"] : cfg["train_cfg"],
      sizes, batch_, train_,
      [](const std::string& what, size_t level) { return str_cat("mid/anchor.", what, ".", level); },
      "mid/anchor.num_total");

  for (const auto& [name, module] : detector_->named_modules()) {
    if (const auto* rpn = dynamic_cast<const DenseHead*>(module); rpn && two_stages) {
      const Tensors proposals = rpn->forward_train(feats, batch_).proposals;
      for (size_t i = 0; i < proposals.size(); ++i) {
        const Tensor& expected = train_.tensor("mid/proposals." + std::to_string(i));
        expect_same_boxes(proposals[i].to(kCPU), {}, expected, {}, 2e-3, 1e-5);
      }
    } else if (const auto* semantic = dynamic_cast<const SemanticHead*>(module)) {
      const SemanticHead::Outputs outputs = semantic->forward(feats);
      expect_mid("sem.pred", outputs.mask_pred);
      expect_mid("sem.feat", outputs.semantic_feat);
    }
  }
}

// What single layers give in a training step, by their path. RoIs are compared as a set: their order follows
// that of proposals whose scores may tie.
TEST_P(DetectorGolden, LayersOfTheHeadsMatchTheReference) {
  detector_->train();
  const std::map<std::string, Tensors> outputs = outputs_by_layer();
  for (const auto& [path, name] : std::map<std::string, std::string>{{"rpn_head.rpn_cls", "rpn.cls"},
                                                                     {"rpn_head.rpn_reg", "rpn.reg"},
                                                                     {"bbox_head.retina_cls", "cls"},
                                                                     {"bbox_head.retina_reg", "reg"}}) {
    for (size_t l = 0; train_.has(str_cat("mid/", name, ".", l)); ++l)
      expect_mid(str_cat(name, ".", l), Variable(outputs.at(path).at(l)));
  }
  for (size_t stage = 0; train_.has(str_cat("mid/s", stage, ".cls_score")); ++stage) {
    const std::string alone = "roi_head.bbox_head",
                      head = outputs.count(alone + ".fc_cls") ? alone : str_cat(alone, ".", stage);
    expect_same_rows(outputs.at(head + ".fc_cls").at(0),
                     train_.tensor(str_cat("mid/s", stage, ".cls_score")));
    expect_same_rows(outputs.at(head + ".fc_reg").at(0),
                     train_.tensor(str_cat("mid/s", stage, ".bbox_pred")));
  }
}

TEST_P(DetectorGolden, GradientsMatchTheReference) {
  detector_->train();
  detector_->forward_train(batch_).total().backward();
  const double float64_error = train_.json()["float64_minus_float32"]["grad"];
  expect_golden_gradients(*detector_, train_, gradient_tolerances(), golden_tolerance(float64_error, 0));
}

// Of mask_rcnn_edge; the backbones of the others are in eval mode and must keep theirs.
TEST_P(DetectorGolden, RunningStatisticsMatchTheReference) {
  const StateDict before = detector_->state_dict();
  detector_->train();
  detector_->forward_train(batch_);
  detector_->commit_buffers();
  for (const auto& [name, buffer] : detector_->named_buffers()) {
    const std::string post = "mid/post." + name;
    const Tensor& expected = train_.has(post) ? train_.tensor(post) : *before.find(name);
    EXPECT_TENSOR_NEAR(buffer->value.reshape({-1}), expected.reshape({-1}), 1e-6, 1e-5) << name;
  }
}

TEST_P(DetectorGolden, ProposalsMatchTheReference) {
  if (!test_.has("proposals")) GTEST_SKIP() << "a single-stage detector";
  detector_->train(false);
  const auto& detector = dynamic_cast<const TwoStageDetector&>(*detector_);
  const Tensors proposals = detector.propose(first_image(batch_));
  expect_same_boxes(proposals[0], {}, test_.tensor("proposals"), {}, 2e-3, 1e-5);
}

TEST_P(DetectorGolden, DetectionsMatchTheReference) {
  detector_->train(false);
  const DetectionResult result = detector_->simple_test(first_image(batch_), /*rescale=*/true).at(0);
  const Tensor& expected = test_.tensor("dets");
  ASSERT_EQ(result.bboxes.dim(0), expected.dim(0));
  Tensor dets({expected.dim(0), 5}, DType::kF32);
  for (int64_t i = 0; i < dets.dim(0); ++i) {
    float* row = dets.mutable_data<float>() + i * 5;
    std::copy_n(result.bboxes.data<float>() + i * 4, 4, row);
    row[4] = result.scores.data<float>()[i];
  }
  expect_same_boxes(dets, result.labels, expected, test_.tensor("labels"), 5e-3, 2e-5);
  EXPECT_EQ(result.has_masks, test_.has("masks"));
}

// Pixels whose interpolated probability lies within rounding of the threshold may fall on either side.
TEST_P(DetectorGolden, MasksMatchTheReference) {
  if (!test_.has("masks")) GTEST_SKIP() << "no mask branch";
  detector_->train(false);
  const DetectionResult result = detector_->simple_test(first_image(batch_), /*rescale=*/true).at(0);
  const Tensor& expected = test_.tensor("masks");
  ASSERT_EQ(static_cast<int64_t>(result.masks.size()), expected.dim(0));
  int64_t different = 0;
  for (int64_t i = 0; i < expected.dim(0); ++i) {
    InstanceMask mask;
    mask.h = result.masks[i].h;
    mask.w = result.masks[i].w;
    mask.rle = result.masks[i];
    const Tensor bitmap = to_bitmap(mask);
    ASSERT_EQ(bitmap.shape(), expected[i].shape());
    for (int64_t k = 0; k < bitmap.numel(); ++k) {
      different += bitmap.data<uint8_t>()[k] != expected[i].data<uint8_t>()[k];
    }
  }
  EXPECT_LE(different, expected.numel() / 20000);
}

INSTANTIATE_TEST_SUITE_P(Cases, DetectorGolden,
                         ::testing::Combine(::testing::ValuesIn(Golden::fixtures("detectors")),
                                            ::testing::ValuesIn(devices_in_build())),
                         [](const auto& test) {
                           return test_name(std::get<0>(test.param)) + "_" +
                                  device_name(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace osprey::testing
