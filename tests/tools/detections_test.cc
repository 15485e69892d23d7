#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <opencv2/core.hpp>

#include "core/base/error.h"
#include "core/mask/polygon.h"
#include "tests/golden.h"
#include "tools/draw_detections.h"
#include "tools/results_file.h"

namespace osprey {
namespace {

// Two boxes with masks in an image of 40 x 60: label 0 at 0.9 on the left, label 7 at 0.2 on the right.
DetectionResult two_detections() {
  DetectionResult result;
  result.bboxes = Tensor::from<float>({5, 5, 20, 30, 35, 10.25f, 55, 35}, {2, 4});
  result.scores = Tensor::from<float>({0.9f, 0.2f}, {2});
  result.labels = Tensor::from<int64_t>({0, 7}, {2});
  result.masks = {rasterize_box({5, 5, 15, 25}, 40, 60), rasterize_box({35, 10, 20, 25}, 40, 60)};
  result.has_masks = true;
  return result;
}

int64_t changed_pixels(const cv::Mat& image, int x0, int x1) {
  cv::Mat grey;
  cv::extractChannel(image.colRange(x0, x1) != cv::Scalar::all(10), grey, 0);
  return cv::countNonZero(grey);
}

TEST(DrawDetectionsTest, DrawsWhatReachesTheThreshold) {
  cv::Mat image(40, 60, CV_8UC3, cv::Scalar::all(10));
  draw_detections(image, two_detections(), {"cat"}, 0.3);
  EXPECT_GT(changed_pixels(image, 0, 30), 300);
  draw_detections(image, two_detections(), {"cat"}, 0.1);
  EXPECT_GT(changed_pixels(image, 36, 60), 300);
}

TEST(DrawDetectionsTest, NothingFoundAndWildBoxesAreHarmless) {
  cv::Mat image(40, 60, CV_8UC3, cv::Scalar::all(10));
  DetectionResult none;
  none.bboxes = Tensor({0, 4}, DType::kF32);
  none.scores = Tensor({0}, DType::kF32);
  none.labels = Tensor({0}, DType::kI64);
  draw_detections(image, none, {}, 0);
  EXPECT_EQ(changed_pixels(image, 0, 60), 0);
  none.bboxes = Tensor::from<float>({-1e30f, -5, 1e30f, 1e30f}, {1, 4});
  none.scores = Tensor::from<float>({1}, {1});
  none.labels = Tensor::from<int64_t>({-3}, {1});
  draw_detections(image, none, {}, 0);
}

TEST(ResultsFileTest, ResultsComeBackExactly) {
  const std::string path = ::testing::TempDir() + "results.json";
  DetectionResult boxes_only = two_detections();
  boxes_only.has_masks = false;
  boxes_only.masks.clear();
  write_results(path, {two_detections(), boxes_only});
  const std::vector<DetectionResult> read = read_results(path);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_TENSOR_EQ(read[0].bboxes, two_detections().bboxes);
  EXPECT_TENSOR_EQ(read[0].scores, two_detections().scores);
  EXPECT_TENSOR_EQ(read[0].labels, two_detections().labels);
  EXPECT_EQ(read[0].masks, two_detections().masks);
  EXPECT_FALSE(read[1].has_masks);
  write_results(path, {});
  EXPECT_TRUE(read_results(path).empty());
}

TEST(ResultsFileTest, OtherFilesAreUserErrorsThatNameThem) {
  const std::string path = ::testing::TempDir() + "wrong.json";
  for (const char* text :
       {"", "[{}]", "[{\"bboxes\": [[1]], \"labels\": []}]", "[{\"bboxes\": [], \"labels\": [1]}]",
        "[{\"bboxes\": [], \"labels\": [], \"masks\": [{\"size\": [2, 2], \"counts\": \"!\"}]}]"}) {
    std::ofstream(path) << text;
    try {
      read_results(path);
      FAIL() << text;
    } catch (const UserError& error) {
      EXPECT_TRUE(starts_with(error.what(), path + ": ")) << error.what();
    }
  }
  EXPECT_THROW(read_results("/no/such/file.json"), UserError);
}

}  // namespace
}  // namespace osprey
