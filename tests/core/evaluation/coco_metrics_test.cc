#include "core/evaluation/coco_metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/evaluation/ascii_table.h"
#include "core/evaluation/proposal_recall.h"
#include "tests/core/evaluation/coco_fixture.h"
#include "tests/golden.h"

namespace osprey {
namespace {

class CocoMetricsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { fixture_ = std::make_unique<testing::CocoFixture>(); }
  static void TearDownTestSuite() { fixture_.reset(); }

  static EvalOptions metrics(const std::vector<std::string>& names) {
    EvalOptions options;
    options.metrics = names;
    return options;
  }

  static std::unique_ptr<testing::CocoFixture> fixture_;
};
std::unique_ptr<testing::CocoFixture> CocoMetricsTest::fixture_;

TEST_F(CocoMetricsTest, ReportsBoxesAndMasksUnderMmdetectionsNames) {
  const EvalReport report =
      coco_metrics(fixture_->reference(), fixture_->detections(true), metrics({"bbox", "segm"}));
  const std::vector<std::pair<std::string, double>> expected = {
      {"bbox_mAP", 0.456},    {"bbox_mAP_50", 0.684}, {"bbox_mAP_75", 0.479}, {"bbox_mAP_s", 0.472},
      {"bbox_mAP_m", 0.478},  {"bbox_mAP_l", 0.483},  {"segm_mAP", 0.432},    {"segm_mAP_50", 0.694},
      {"segm_mAP_75", 0.433}, {"segm_mAP_s", 0.360},  {"segm_mAP_m", 0.471},  {"segm_mAP_l", 0.529}};
  EXPECT_EQ(report.metrics, expected);
  ASSERT_EQ(report.texts.size(), 2u);
  EXPECT_EQ(report.texts[0].first, "bbox_mAP_copypaste");
  EXPECT_EQ(report.texts[0].second, "0.456 0.684 0.479 0.472 0.478 0.483");
  EXPECT_NE(
      report.table.find("\nEvaluating segm...\n Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | "
                        "maxDets=100 ] = 0.432\n Average Precision  (AP) @[ IoU=0.50      | area=   all | "
                        "maxDets=1000 ] = 0.694\n"),
      std::string::npos)
      << report.table;
}

TEST_F(CocoMetricsTest, ReportsProposals) {
  const EvalReport report = coco_metrics(fixture_->reference(), fixture_->proposals(), metrics({"proposal"}));
  const std::vector<std::pair<std::string, double>> expected = {{"AR@100", 0.549},    {"AR@300", 0.567},
                                                                {"AR@1000", 0.567},   {"AR_s@1000", 0.567},
                                                                {"AR_m@1000", 0.532}, {"AR_l@1000", 0.619}};
  EXPECT_EQ(report.metrics, expected);
}

TEST_F(CocoMetricsTest, FastProposalRecallEqualsMmdetection) {
  const nlohmann::json& expected = fixture_->expected()["proposal_fast"];
  const EvalReport report =
      coco_metrics(fixture_->reference(), fixture_->proposals(), metrics({"proposal_fast"}));
  ASSERT_EQ(report.metrics.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(report.metrics[i].second, expected["AR"][i].get<double>(), 1e-9);
  EXPECT_NE(report.table.find("AR@100\t0.5487\n"), std::string::npos) << report.table;
}

TEST_F(CocoMetricsTest, ItemsAndClassesCanBeChosen) {
  EvalOptions options = metrics({"bbox"});
  options.metric_items = {"mAP_50", "AR@100"};
  options.classwise = true;
  const EvalReport report = coco_metrics(fixture_->reference(), fixture_->detections(true), options);
  ASSERT_EQ(report.metrics.size(), 2u);
  EXPECT_EQ(report.metrics[1], (std::pair<std::string, double>("bbox_AR@100", 0.569)));
  EXPECT_NE(report.table.find("| person "), std::string::npos);
  EXPECT_NE(report.table.find("| nan "), std::string::npos) << "a class without ground truth";
}

TEST_F(CocoMetricsTest, NoDetectionsGiveZeros) {
  const EvalReport report =
      coco_metrics(fixture_->reference(), {}, metrics({"bbox", "segm", "proposal_fast"}));
  ASSERT_EQ(report.metrics.size(), 15u);
  for (const auto& [name, value] : report.metrics) EXPECT_EQ(value, 0) << name;
}

TEST_F(CocoMetricsTest, WrongOptionsAreUserErrors) {
  const auto complaint = [&](const EvalOptions& options) {
    try {
      coco_metrics(fixture_->reference(), {}, options);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(
      complaint(metrics({"bbx"})),
      "evaluation: metric 'bbx' is not supported; allowed: bbox, segm, proposal, proposal_fast. Did you mean "
      "'bbox'?");
  EvalOptions options;
  options.metric_items = {"map"};
  EXPECT_NE(complaint(options).find("unknown metric_items entry 'map'"), std::string::npos);
  options = {};
  options.proposal_nums = {1000, 100, 10};
  EXPECT_NE(complaint(options).find("three ascending numbers"), std::string::npos);
}

TEST_F(CocoMetricsTest, ResultFilesReadBackExactly) {
  const std::vector<CocoDetection> written = fixture_->detections(true);
  const std::string path = ::testing::TempDir() + "results.segm.json";
  write_coco_json(path, written, true);
  std::ifstream in(path);
  const nlohmann::json read = nlohmann::json::parse(in);
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    EXPECT_EQ(read[i]["image_id"].get<int64_t>(), written[i].image_id);
    EXPECT_EQ(read[i]["category_id"].get<int64_t>(), written[i].category_id);
    EXPECT_EQ(read[i]["bbox"].get<XYWH>(), written[i].bbox);
    EXPECT_EQ(read[i]["score"].get<double>(), written[i].score);
    const auto& segmentation = read[i]["segmentation"];
    EXPECT_EQ(rle_from_string(segmentation["counts"], segmentation["size"][0], segmentation["size"][1]),
              *written[i].segmentation);
  }
}

TEST_F(CocoMetricsTest, ResultFilesAreJsonWhateverTheDetections) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string path = ::testing::TempDir() + "results.bbox.json";
  write_coco_json(path, {{1, 2, {nan, 0, 1, 1}, 0.5, 1, nullptr}, {1, 2, {0, 0, 1, 1}, 1e-7, 1, nullptr}},
                  false);
  std::ifstream in(path);
  EXPECT_EQ(nlohmann::json::parse(in).size(), 1u);
  write_coco_json(path, {}, false);
  std::ifstream empty(path);
  EXPECT_EQ(nlohmann::json::parse(empty).dump(), "[]");
}

TEST(ProposalRecallTest, EachProposalServesOneGroundTruth) {
  const Tensor gts = Tensor::from<float>({0, 0, 10, 10, 0, 0, 10, 9}, {2, 4});
  const ProposalImage image{gts, Tensor::from<float>({0, 0, 10, 10}, {1, 4}),
                            Tensor::from<float>({0.5f}, {1})};
  EXPECT_EQ(proposal_recalls({image}, {1, 10}, {0.5}), (std::vector<std::vector<double>>{{0.5}, {0.5}}));
  const ProposalImage empty{Tensor({0, 4}, DType::kF32), Tensor({0, 4}, DType::kF32),
                            Tensor({0}, DType::kF32)};
  EXPECT_EQ(proposal_recalls({empty}, {1}, {0.5})[0][0], 0);
}

TEST(AsciiTableTest, FillsRowsFromLeftToRight) {
  EXPECT_EQ(
      ascii_table({"category", "AP", "category", "AP"}, {"cat", "0.1", "hippopotamus", "0.25", "dog", "nan"}),
      "+----------+-----+--------------+------+\n"
      "| category | AP  | category     | AP   |\n"
      "+----------+-----+--------------+------+\n"
      "| cat      | 0.1 | hippopotamus | 0.25 |\n"
      "| dog      | nan |              |      |\n"
      "+----------+-----+--------------+------+\n");
}

}  // namespace
}  // namespace osprey
