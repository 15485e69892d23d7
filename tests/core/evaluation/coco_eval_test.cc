#include "core/evaluation/coco_eval.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/evaluation/coco_matcher.h"
#include "tests/core/evaluation/coco_fixture.h"
#include "tests/golden.h"

namespace osprey {
namespace {

constexpr double kTolerance = 1e-9;

class CocoEvalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { fixture_ = std::make_unique<testing::CocoFixture>(); }
  static void TearDownTestSuite() { fixture_.reset(); }

  static CocoEvalParams params_of(const nlohmann::json& run, IouType iou_type) {
    CocoEvalParams params;
    params.iou_type = iou_type;
    params.image_ids = fixture_->reference().image_ids;
    params.category_ids = fixture_->reference().category_ids;
    params.max_dets = run["maxDets"].get<std::vector<int64_t>>();
    params.use_cats = run["useCats"] == 1;
    return params;
  }
  static CocoEval evaluate(const CocoEvalParams& params, const std::vector<CocoDetection>& detections) {
    return CocoEval(params, fixture_->reference().annotations, detections);
  }

  static void expect_value(double actual, const nlohmann::json& expected, const std::string& what) {
    EXPECT_NUMBER_NEAR(actual, expected.is_null() ? -1.0 : expected.get<double>(), kTolerance, 0) << what;
  }

  // Every number that the fixture has for a run.
  static void expect_run(const CocoEval& eval, const nlohmann::json& run) {
    const int64_t last = eval.params().max_dets.back();
    if (run.contains("stats")) {
      const auto stats = eval.stats();
      for (size_t i = 0; i < stats.size(); ++i) expect_value(stats[i], run["stats"][i], str_cat("stats ", i));
    }
    const nlohmann::json ap = run.value("AP_per_category", nlohmann::json::object());
    for (const auto& [area, values] : ap.items()) {
      for (size_t k = 0; k < values.size(); ++k) {
        expect_value(eval.average_precision({std::nullopt, k, area, last}), values[k],
                     str_cat("AP ", area, " ", k));
      }
    }
    const auto ap50 = run.value("AP50_per_category", nlohmann::json::array());
    for (size_t k = 0; k < ap50.size(); ++k) {
      const double thr = eval.params().iou_thrs.front();
      expect_value(eval.average_precision({thr, k, "all", last}), ap50[k], str_cat("AP50 ", k));
    }
    const nlohmann::json ar = run.value("AR_per_category", nlohmann::json::object());
    for (const auto& [name, values] : ar.items()) {
      const std::string area = name.substr(0, name.find('@'));
      const int64_t max_dets = std::stoll(name.substr(name.find('@') + 1));
      for (size_t k = 0; k < values.size(); ++k) {
        expect_value(eval.average_recall({std::nullopt, k, area, max_dets}), values[k],
                     str_cat("AR ", name, " ", k));
      }
    }
    const auto per_iou = run.value("AP_per_iou", nlohmann::json::array());
    for (size_t t = 0; t < per_iou.size(); ++t) {
      const double thr = eval.params().iou_thrs[t];
      expect_value(eval.average_precision({thr, std::nullopt, "all", last}), per_iou[t],
                   str_cat("AP at ", thr));
    }
    const nlohmann::json ar_per_iou = run.value("AR_per_iou_all", nlohmann::json::object());
    for (const auto& [max_dets, values] : ar_per_iou.items()) {
      for (size_t t = 0; t < values.size(); ++t) {
        const double thr = eval.params().iou_thrs[t];
        expect_value(eval.average_recall({thr, std::nullopt, "all", std::stoll(max_dets)}), values[t],
                     str_cat("AR at ", thr, "@", max_dets));
      }
    }
  }

  // "bbox_mmdet", "segm_mask_area_default", "proposal_mmdet", "bbox_iou_0.6_0.8": what is evaluated, then
  // how.
  static CocoEval evaluate_named(const std::string& name, const nlohmann::json& run) {
    const bool segm = starts_with(name, "segm");
    CocoEvalParams params = params_of(run, segm ? IouType::kSegm : IouType::kBbox);
    if (starts_with(name, "bbox_iou_")) {
      params.iou_thrs.clear();
      std::istringstream thresholds(name.substr(std::string("bbox_iou_").size()));
      for (std::string text; std::getline(thresholds, text, '_');) params.iou_thrs.push_back(std::stod(text));
    }
    if (starts_with(name, "proposal")) return evaluate(params, fixture_->proposals());
    return evaluate(params, fixture_->detections(/*box_area=*/!starts_with(name, "segm_mask_area")));
  }

  static std::unique_ptr<testing::CocoFixture> fixture_;
};
std::unique_ptr<testing::CocoFixture> CocoEvalTest::fixture_;

TEST_F(CocoEvalTest, EveryRunEqualsPycocotools) {
  int runs = 0;
  for (const auto& [name, run] : fixture_->expected().items()) {
    if (!run.is_object() || !run.contains("maxDets")) continue;
    SCOPED_TRACE(name);
    expect_run(evaluate_named(name, run), run);
    ++runs;
  }
  EXPECT_GT(runs, 0);
}

TEST_F(CocoEvalTest, AThresholdThatWasNotEvaluatedHasNoValue) {
  CocoEvalParams params = params_of(fixture_->expected()["bbox_default"], IouType::kBbox);
  params.iou_thrs = {0.6, 0.8};
  EXPECT_EQ(evaluate(params, fixture_->detections(true)).stats()[1], -1) << "there is no threshold 0.5";
}

TEST_F(CocoEvalTest, EachMatchIsPycocotools) {
  const std::vector<CocoDetection> detections = fixture_->detections(true);
  for (const auto& sample : fixture_->expected()["bbox_matching_samples"]["samples"]) {
    const auto belongs = [&](const auto& item) {
      return item.image_id == sample["image_id"] && item.category_id == sample["category_id"];
    };
    std::vector<const CocoGroundTruth*> gts;
    std::vector<const CocoDetection*> dts;
    for (const CocoGroundTruth& gt : fixture_->reference().annotations) {
      if (belongs(gt)) gts.push_back(&gt);
    }
    for (const CocoDetection& dt : detections) {
      if (belongs(dt)) dts.push_back(&dt);
    }
    const CocoMatcher matcher(gts, dts, IouType::kBbox, 100);
    const auto matches = matcher.match({"all", 0, 1e10}, {0.5, 0.75});
    const size_t count = matcher.detections().size();
    ASSERT_EQ(count, sample["dtIds"].size());
    for (size_t d = 0; d < count; ++d) {
      EXPECT_EQ(matcher.detections()[d] - detections.data() + 1, sample["dtIds"][d].get<int64_t>());
      for (const auto& [t, key] : {std::pair<size_t, std::string>{0, "50"}, {1, "75"}}) {
        const int32_t gt = matches.gt[t * count + d];
        EXPECT_EQ(gt < 0 ? 0 : gts[gt]->id, sample["dtMatches" + key][d].get<int64_t>());
        EXPECT_EQ(matches.ignored[t * count + d], sample["dtIgnore" + key][d].get<int>());
      }
    }
  }
}

TEST_F(CocoEvalTest, TheSummaryIsPycocotoolsText) {
  const nlohmann::json& run = fixture_->expected()["bbox_default"];
  const char* const lines[] = {
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = %.3f\n",
      " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = %.3f\n",
      " Average Precision  (AP) @[ IoU=0.75      | area=   all | maxDets=100 ] = %.3f\n",
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = %.3f\n",
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = %.3f\n",
      " Average Precision  (AP) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = %.3f\n",
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=  1 ] = %.3f\n",
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets= 10 ] = %.3f\n",
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = %.3f\n",
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = %.3f\n",
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area=medium | maxDets=100 ] = %.3f\n",
      " Average Recall     (AR) @[ IoU=0.50:0.95 | area= large | maxDets=100 ] = %.3f\n"};
  std::string expected;
  for (size_t i = 0; i < std::size(lines); ++i) {
    char line[100];
    std::snprintf(line, sizeof(line), lines[i], run["stats"][i].get<double>());
    expected += line;
  }
  EXPECT_EQ(evaluate(params_of(run, IouType::kBbox), fixture_->detections(true)).summary(), expected);
}

// --- Small cases with a known answer: one image, one category, boxes of 50 x 50.

CocoGroundTruth truth(int64_t id, double x, bool iscrowd = false) {
  return {id, 1, 7, {x, 0, 50, 50}, 2500, iscrowd, nullptr};
}
CocoDetection found(double x, double score) { return {1, 7, {x, 0, 50, 50}, score, 2500, nullptr}; }

CocoEval small_case(const std::vector<CocoGroundTruth>& gts, const std::vector<CocoDetection>& dts) {
  CocoEvalParams params;
  params.image_ids = {1};
  params.category_ids = {7};
  return CocoEval(params, gts, dts);
}

TEST(CocoEvalCaseTest, PerfectDetectionsHaveFullPrecisionAndNoneHaveZero) {
  EXPECT_NEAR(small_case({truth(1, 0), truth(2, 100)}, {found(100, 0.3), found(0, 0.9)}).stats()[0], 1,
              1e-12);
  EXPECT_EQ(small_case({truth(1, 0)}, {}).stats()[0], 0);
  EXPECT_EQ(small_case({truth(1, 0)}, {}).stats()[8], 0);
}

TEST(CocoEvalCaseTest, ACrowdSwallowsAnyNumberOfDetectionsAndDemandsNone) {
  const std::vector<CocoGroundTruth> gts = {truth(1, 0), truth(2, 200, true)};
  const CocoEval eval = small_case(gts, {found(200, 0.9), found(201, 0.8), found(0, 0.5)});
  EXPECT_NEAR(eval.stats()[0], 1, 1e-12);
  EXPECT_EQ(small_case({truth(2, 200, true)}, {found(200, 0.9)}).stats()[0], -1)
      << "a crowd alone is no ground truth";
}

TEST(CocoEvalCaseTest, AMatchWithIdZeroCountsAsAFalsePositiveAsInPycocotools) {
  EXPECT_EQ(small_case({truth(0, 0)}, {found(0, 0.9)}).stats()[0], 0);
}

TEST(CocoEvalCaseTest, OtherImagesAndCategoriesAreLeftOut) {
  CocoDetection elsewhere = found(0, 0.95), other = found(0, 0.95);
  elsewhere.image_id = 2;
  other.category_id = 8;
  EXPECT_NEAR(small_case({truth(1, 0)}, {elsewhere, other, found(0, 0.9)}).stats()[0], 1, 1e-12);
}

TEST(CocoEvalCaseTest, NanScoresAndBoxesAreFalsePositivesNotCrashes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CocoDetection broken = found(nan, nan);
  const CocoEval eval = small_case({truth(1, 0)}, {broken, found(0, 0.9), broken, broken});
  EXPECT_NEAR(eval.stats()[0], 1, 1e-12) << "NaN ranks last, behind full recall";
}

TEST(CocoEvalCaseTest, TheOrderOfImagesOfOneScoreDoesNotDependOnThreads) {
  CocoEvalParams params;
  std::vector<CocoGroundTruth> gts;
  std::vector<CocoDetection> dts;
  CounterRng rng(4);
  for (int64_t image = 1; image <= 40; ++image) {
    params.image_ids.push_back(image);
    for (int i = 0; i < 5; ++i) {
      CocoGroundTruth gt = truth(static_cast<int64_t>(gts.size()) + 1, 60.0 * i);
      CocoDetection dt = found(60.0 * i + rng.uniform(0, 40), 0.5);
      gt.image_id = dt.image_id = image;
      gt.category_id = dt.category_id = 1 + rng.randint(3);
      gts.push_back(gt);
      dts.push_back(dt);
    }
  }
  params.category_ids = {1, 2, 3};
  const auto first = CocoEval(params, gts, dts).stats();
  for (int run = 0; run < 5; ++run) EXPECT_EQ(CocoEval(params, gts, dts).stats(), first);
}

TEST(CocoEvalCaseTest, EmptyInputsAreNotAnError) {
  CocoEvalParams params;
  EXPECT_EQ(CocoEval(params, {}, {}).stats()[0], -1);
  params.max_dets = {100, 10};
  EXPECT_THROW(CocoEval(params, {}, {}), Error);
}

}  // namespace
}  // namespace osprey
