#include "core/evaluation/coco_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
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

// As mmdetection rounds them.
double rounded(const nlohmann::json& value) { return std::round(value.get<double>() * 1000) / 1000; }

std::string three_digits(double value) {
  char text[16];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

TEST_F(CocoMetricsTest, ReportsBoxesAndMasksUnderMmdetectionsNames) {
  const EvalReport report =
      coco_metrics(fixture_->reference(), fixture_->detections(true), metrics({"bbox", "segm"}));
  std::vector<std::pair<std::string, double>> expected;
  std::string copypaste;
  for (const std::string metric : {"bbox", "segm"}) {
    const auto& stats =
        fixture_->expected()[metric == "bbox" ? "bbox_mmdet" : "segm_bbox_area_mmdet"]["stats"];
    const char* const items[] = {"_mAP", "_mAP_50", "_mAP_75", "_mAP_s", "_mAP_m", "_mAP_l"};
    for (size_t i = 0; i < std::size(items); ++i) {
      expected.emplace_back(metric + items[i], rounded(stats[i]));
      if (metric == "bbox") copypaste += (i == 0 ? "" : " ") + three_digits(stats[i]);
    }
  }
  ASSERT_EQ(report.metrics.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(report.metrics[i].first, expected[i].first);
    EXPECT_NEAR(report.metrics[i].second, expected[i].second, 1e-12) << expected[i].first;
  }
  ASSERT_EQ(report.texts.size(), 2u);
  EXPECT_EQ(report.texts[0].first, "bbox_mAP_copypaste");
  EXPECT_EQ(report.texts[0].second, copypaste);
  EXPECT_NE(report.table.find(
                str_cat("\nEvaluating segm...\n Average Precision  (AP) @[ IoU=0.50:0.95 | "
                        "area=   all | maxDets=100 ] = ",
                        three_digits(expected[6].second),
                        "\n Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=1000 ] = ",
                        three_digits(expected[7].second), "\n")),
            std::string::npos)
      << report.table;
}

TEST_F(CocoMetricsTest, ReportsProposals) {
  const EvalReport report = coco_metrics(fixture_->reference(), fixture_->proposals(), metrics({"proposal"}));
  const char* const names[] = {"AR@100", "AR@300", "AR@1000", "AR_s@1000", "AR_m@1000", "AR_l@1000"};
  const auto& stats = fixture_->expected()["proposal_mmdet"]["stats"];
  ASSERT_EQ(report.metrics.size(), std::size(names));
  for (size_t i = 0; i < std::size(names); ++i) {
    EXPECT_EQ(report.metrics[i].first, names[i]);
    EXPECT_NEAR(report.metrics[i].second, rounded(stats[6 + i]), 1e-12) << names[i];
  }
}

TEST_F(CocoMetricsTest, FastProposalRecallEqualsMmdetection) {
  const nlohmann::json& expected = fixture_->expected()["proposal_fast"];
  const EvalReport report =
      coco_metrics(fixture_->reference(), fixture_->proposals(), metrics({"proposal_fast"}));
  ASSERT_EQ(report.metrics.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NUMBER_NEAR(report.metrics[i].second, expected["AR"][i], 1e-9, 0);
  char line[32];
  std::snprintf(line, sizeof(line), "AR@100\t%.4f\n", expected["AR"][0].get<double>());
  EXPECT_NE(report.table.find(line), std::string::npos) << report.table;
}

TEST_F(CocoMetricsTest, ItemsAndClassesCanBeChosen) {
  EvalOptions options = metrics({"bbox"});
  options.metric_items = {"mAP_50", "AR@100"};
  options.classwise = true;
  const EvalReport report = coco_metrics(fixture_->reference(), fixture_->detections(true), options);
  ASSERT_EQ(report.metrics.size(), 2u);
  EXPECT_EQ(report.metrics[1].first, "bbox_AR@100");
  EXPECT_NEAR(report.metrics[1].second, rounded(fixture_->expected()["bbox_mmdet"]["stats"][6]), 1e-12);
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
