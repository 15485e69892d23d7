// Transforms that change geometry and colour, beside mmdetection 2.11 (fixture golden/pipelines/augment:
// results of its own classes with prob 1, so that nothing random is left), and the properties of those that
// are random.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/mask/instance_mask.h"
#include "tests/core/data/data_files.h"
#include "tests/core/data/pipelines/sample_of.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;
using testing::max_abs_diff;
using testing::run_transform;
using testing::sample_of;
using testing::to_boxes;
using testing::to_mat;
using testing::to_tensor;
using testing::transform_of;
using testing::user_error_of;

class AugmentGolden : public ::testing::Test {
 protected:
  // The fixture's sample, its masks as bitmaps or as outlines.
  Sample sample(const std::string& name, bool polygons) const {
    const Tensor& image = golden_.tensor(golden_.has(name + "/input") ? name + "/input" : "image");
    Sample sample = sample_of(to_mat(image));
    sample.gt_bboxes = to_boxes(golden_.tensor("boxes"));
    sample.gt_labels = golden_.tensor("labels").to_vector<int64_t>();
    sample.gt_bboxes_ignore = to_boxes(golden_.tensor("ignore"));
    sample.gt_semantic_seg = to_mat(golden_.tensor("seg"));
    const Tensor bitmaps = golden_.tensor("bitmaps"), outlines = golden_.tensor("polygons");
    const int64_t h = bitmaps.dim(1), w = bitmaps.dim(2);
    for (int64_t i = 0; i < bitmaps.dim(0); ++i) {
      const std::vector<double> outline = outlines.slice(i, i + 1).to_doubles();
      sample.gt_masks.push_back(polygons ? from_polygons({outline}, h, w)
                                         : from_bitmap(bitmaps.data<uint8_t>() + i * h * w, h, w));
    }
    return sample;
  }

  static Tensor bitmaps_of(const InstanceMasks& masks, const Tensor& like) {
    Tensor all(Shape{static_cast<int64_t>(masks.size()), like.dim(1), like.dim(2)}, DType::kU8);
    for (size_t i = 0; i < masks.size(); ++i) {
      const Tensor bitmap = to_bitmap(masks[i]);
      std::copy_n(bitmap.data<uint8_t>(), bitmap.numel(), all.mutable_data<uint8_t>() + i * bitmap.numel());
    }
    return all;
  }

  Tensor tensor(const std::string& name, const char* key) const { return golden_.tensor(name + "/" + key); }

  const Golden golden_ = Golden::open_shipped("pipelines/augment");
};

TEST_F(AugmentGolden, EveryCaseAgreesWithMmdetection) {
  for (const std::string& name : golden_.cases()) {
    for (const bool polygons : {false, true}) {
      Sample sample = this->sample(name, polygons);
      run_transform(golden_.text(name, "config"), sample);
      // Bytes are equal; some builds of OpenCV contract a multiplication and an addition of floats.
      const double ulp = sample.img.depth() == CV_8U ? 0 : 1.6e-5;  // of 255
      EXPECT_TENSOR_NEAR(to_tensor(sample.img), tensor(name, "img"), ulp, 0) << name;
      EXPECT_TENSOR_NEAR(to_tensor(sample.gt_bboxes), tensor(name, "gt_bboxes"), 4e-6, 1e-6) << name;
      EXPECT_TENSOR_NEAR(to_tensor(sample.gt_bboxes_ignore), tensor(name, "gt_bboxes_ignore"), 4e-6, 1e-6)
          << name;
      EXPECT_EQ(sample.gt_labels, tensor(name, "gt_labels").to_vector<int64_t>()) << name;
      const char* masks = polygons ? "polygons" : "bitmaps";
      if (golden_.has(name + "/" + masks)) {
        EXPECT_TENSOR_EQ(bitmaps_of(sample.gt_masks, golden_.tensor("bitmaps")), tensor(name, masks)) << name;
      }
      if (golden_.has(name + "/seg")) {
        EXPECT_TENSOR_EQ(to_tensor(sample.gt_semantic_seg), tensor(name, "seg")) << name;
      }
    }
  }
}

cv::Mat image_of(int w, int h, const cv::Scalar& color = {10, 100, 200}) {
  return cv::Mat(h, w, CV_8UC3, color);
}

Sample annotated(int w, int h) {
  Sample sample = sample_of(image_of(w, h));
  sample.gt_bboxes = {{10, 5, 30, 25}, {50, 10, 60, 30}};
  sample.gt_labels = {4, 7};
  sample.gt_bboxes_ignore = {{1, 2, 3, 4}};
  sample.gt_masks = {from_polygons({{10, 5, 30, 5, 30, 25, 10, 25}}, h, w),
                     from_rle(to_rle(from_polygons({{50, 10, 60, 10, 60, 30, 50, 30}}, h, w)))};
  sample.gt_semantic_seg = cv::Mat(h, w, CV_8U, cv::Scalar(7));
  return sample;
}

TEST(GeometricTransforms, ProbabilityZeroChangesNothing) {
  for (const char* type : {"Shear", "Rotate", "Translate"}) {
    Sample sample = annotated(80, 40);
    const Sample before = sample;
    run_transform(str_cat("{type: ", type, ", level: 10, prob: 0}"), sample);
    EXPECT_EQ(sample.gt_bboxes, before.gt_bboxes) << type;
    EXPECT_EQ(cv::norm(sample.img, before.img), 0) << type;
  }
}

TEST(GeometricTransforms, BothDirectionsAreDrawn) {
  std::set<float> lefts;
  for (int seed = 0; seed < 20; ++seed) {
    Sample sample = annotated(80, 40);
    run_transform("{type: Translate, level: 1, max_translate_offset: 30, prob: 1}", sample, seed);
    lefts.insert(sample.gt_bboxes[0][0]);
  }
  EXPECT_EQ(lefts, (std::set<float>{7, 13}));
}

TEST(Equalize, TakesBytesOnly) {
  Sample sample = annotated(8, 8);
  sample.img.convertTo(sample.img, CV_32F);
  EXPECT_NE(user_error_of([&] {
              run_transform("{type: EqualizeTransform, prob: 1}", sample);
            }).find("needs 8-bit images"),
            std::string::npos);
}

TEST(AutoAugment, DrawsOnePolicyAnImage) {
  const auto augment = transform_of(
      "{type: AutoAugment, policies: [[{type: Translate, level: 1, max_translate_offset: 30, prob: 1, "
      "random_negative_prob: 0}], [{type: Resize, img_scale: [160, 80]}, {type: RandomFlip, flip_ratio: "
      "0}]]}");
  std::map<int, int> heights;
  for (int seed = 0; seed < 60; ++seed) {
    CounterRng rng(seed);
    const Samples samples = augment->expand(annotated(80, 40), rng);
    ASSERT_EQ(samples.size(), 1u);
    ++heights[samples[0].img.rows];
    EXPECT_EQ(samples[0].gt_bboxes[0][0], samples[0].img.rows == 40 ? 13 : 20);
  }
  EXPECT_EQ(heights.size(), 2u);
  EXPECT_GT(heights[40], 15);
  EXPECT_GT(heights[80], 15);
  EXPECT_NE(user_error_of([] { transform_of("{type: AutoAugment, policies: []}"); }).find("one at least"),
            std::string::npos);
}

// Saturation alone is either untouched or mmdetection's; channels are compared in ascending order, as they
// may be permuted.
TEST_F(AugmentGolden, SaturationAgreesWithMmdetection) {
  const auto sorted = [](const cv::Mat& image) {
    cv::Mat flat = image.reshape(1, static_cast<int>(image.total())), out;
    cv::sort(flat, out, cv::SORT_EVERY_ROW | cv::SORT_ASCENDING);
    return to_tensor(out);
  };
  const Tensor original = sorted(to_mat(golden_.tensor("image").to(DType::kF32)));
  const Tensor saturated = sorted(to_mat(golden_.tensor("saturated")));
  int changed = 0;
  for (int seed = 0; seed < 12; ++seed) {
    Sample sample = this->sample("", /*polygons=*/false);
    run_transform(
        "{type: PhotoMetricDistortion, brightness_delta: 0, contrast_range: [1, 1], saturation_range: [1.25, "
        "1.25], hue_delta: 0}",
        sample, seed);
    const Tensor result = sorted(sample.img);
    if (max_abs_diff(result, original) < 1e-3) continue;
    EXPECT_TENSOR_NEAR(result, saturated, 1e-3, 0);
    ++changed;
  }
  EXPECT_GT(changed, 2);
}

TEST(PhotoMetricDistortion, IsTheIdentityWhereEveryRangeIsAPoint) {
  for (int seed = 0; seed < 12; ++seed) {
    Sample sample = annotated(6, 4);
    run_transform(
        "{type: PhotoMetricDistortion, brightness_delta: 0, contrast_range: [1, 1], saturation_range: [1, "
        "1], "
        "hue_delta: 0}",
        sample, seed);
    ASSERT_EQ(sample.img.type(), CV_32FC3);
    std::multiset<int> channels;
    for (int c = 0; c < 3; ++c) channels.insert(cvRound(sample.img.at<cv::Vec3f>(1, 1)[c]));
    EXPECT_EQ(channels, (std::multiset<int>{10, 100, 200}));  // perhaps permuted
  }
}

TEST(PhotoMetricDistortion, EachStepHappensEveryOtherTime) {
  // Each step alone, as a share of 400 draws; the order of the channels tells the permutation apart.
  const auto changes = [](const std::string& ranges, const auto& changed) {
    int count = 0;
    for (int seed = 0; seed < 400; ++seed) {
      Sample sample = annotated(4, 4);
      run_transform("{type: PhotoMetricDistortion, " + ranges + "}", sample, seed);
      cv::Vec3f pixel = sample.img.at<cv::Vec3f>(0, 0);
      count += changed(pixel);
    }
    return count;
  };
  const std::string none =
      "contrast_range: [1, 1], saturation_range: [1, 1], hue_delta: 0, brightness_delta: ";
  const auto sum_differs = [](const cv::Vec3f& p) { return std::abs(p[0] + p[1] + p[2] - 310) > 1; };
  EXPECT_NEAR(changes(none + "30", sum_differs), 200, 45);
  EXPECT_NEAR(
      changes("brightness_delta: 0, saturation_range: [1, 1], hue_delta: 0, contrast_range: [0.5, 0.5]",
              sum_differs),
      200, 45);
  EXPECT_NEAR(
      changes("brightness_delta: 0, contrast_range: [1, 1], hue_delta: 0, saturation_range: [0.5, 0.5]",
              sum_differs),
      200, 45);
  // Of six permutations five move something.
  EXPECT_NEAR(
      changes(none + "0", [](const cv::Vec3f& p) { return std::abs(p[0] - 10) + std::abs(p[1] - 100) > 1; }),
      400 / 2 * 5 / 6, 45);
}

TEST(Expand, PutsEverythingOnALargerCanvas) {
  for (int seed = 0; seed < 30; ++seed) {
    Sample sample = annotated(80, 40);
    run_transform("{type: Expand, prob: 1, mean: [1, 2, 3], ratio_range: [1.5, 3]}", sample, seed);
    ASSERT_GE(sample.img.cols, 120);
    ASSERT_LE(sample.img.cols, 240);
    EXPECT_EQ(sample.meta.img_shape, (std::array<int64_t, 2>{sample.img.rows, sample.img.cols}));
    const BBox& box = sample.gt_bboxes[0];
    EXPECT_EQ(box[2] - box[0], 20);
    EXPECT_EQ(sample.gt_bboxes_ignore[0][0], box[0] - 9);
    const cv::Point place(static_cast<int>(box[0]) - 10, static_cast<int>(box[1]) - 5);
    EXPECT_EQ(sample.img.at<cv::Vec3b>(place), cv::Vec3b(10, 100, 200));
    EXPECT_EQ(sample.gt_semantic_seg.at<uint8_t>(place), 7);
    EXPECT_EQ(cv::countNonZero(sample.gt_semantic_seg == 7), 80 * 40);
    EXPECT_EQ(cv::countNonZero(sample.gt_semantic_seg == 255), sample.img.rows * sample.img.cols - 80 * 40);
    if (place.x > 0) {
      EXPECT_EQ(sample.img.at<cv::Vec3b>(0, 0), cv::Vec3b(3, 2, 1));
    }  // BGR
    for (int i = 0; i < 2; ++i) {
      const XYWH around = bounding_box(to_rle(sample.gt_masks[i]));
      EXPECT_EQ(around[0], sample.gt_bboxes[i][0]);
      EXPECT_EQ(around[1], sample.gt_bboxes[i][1]);
      EXPECT_EQ(area(sample.gt_masks[i]), i == 0 ? 400 : 200);
      EXPECT_EQ(sample.gt_masks[i].h, sample.img.rows);
    }
  }
}

TEST(MinIoURandomCrop, KeepsTheBoxesWhoseCentersItHolds) {
  int cropped = 0;
  for (int seed = 0; seed < 60; ++seed) {
    Sample sample = annotated(80, 40);
    run_transform("{type: MinIoURandomCrop}", sample, seed);
    const int w = sample.img.cols, h = sample.img.rows;
    cropped += w < 80 || h < 40;
    ASSERT_FALSE(sample.gt_bboxes.empty() && sample.gt_bboxes_ignore.empty());
    ASSERT_EQ(sample.gt_labels.size(), sample.gt_bboxes.size());
    ASSERT_EQ(sample.gt_masks.size(), sample.gt_bboxes.size());
    EXPECT_EQ(sample.gt_semantic_seg.size(), sample.img.size());
    if (w == 80 && h == 40) continue;
    EXPECT_LE(std::max(static_cast<double>(w) / h, static_cast<double>(h) / w), 2.2);  // of whole pixels
    EXPECT_GE(w, 23);
    for (size_t i = 0; i < sample.gt_bboxes.size(); ++i) {
      const BBox& box = sample.gt_bboxes[i];
      EXPECT_TRUE(box[0] >= 0 && box[1] >= 0 && box[2] <= static_cast<float>(w) &&
                  box[3] <= static_cast<float>(h));
      EXPECT_TRUE(box[2] > box[0] && box[3] > box[1]);
      EXPECT_EQ(sample.gt_masks[i].w, w);
      const XYWH around = bounding_box(to_rle(sample.gt_masks[i]));
      EXPECT_NEAR(around[0], box[0], 1);
      EXPECT_NEAR(around[2], box[2] - box[0], 1);
    }
  }
  EXPECT_GT(cropped, 20);
}

// A threshold of 1 no window can meet, so that only the whole image and "any window" are left.
TEST(MinIoURandomCrop, RespectsItsThreshold) {
  for (int seed = 0; seed < 40; ++seed) {
    Sample sample = sample_of(image_of(100, 100));
    sample.gt_bboxes = {{20, 20, 80, 80}};
    sample.gt_labels = {0};
    run_transform("{type: MinIoURandomCrop, min_ious: [0.8], min_crop_size: 0.1}", sample, seed);
    ASSERT_EQ(sample.gt_bboxes.size(), 1u);
  }
}

TEST(CutOut, BlanksRectanglesOfItsSize) {
  const auto blank = [](const std::string& keys, int seed) {
    Sample sample = annotated(80, 40);
    run_transform("{type: CutOut, fill_in: [1, 1, 1], " + keys + "}", sample, seed);
    cv::Mat mask;
    cv::inRange(sample.img, cv::Scalar(1, 1, 1), cv::Scalar(1, 1, 1), mask);
    return cv::countNonZero(mask);
  };
  int whole = 0;
  for (int seed = 0; seed < 20; ++seed) {
    EXPECT_GE(blank("n_holes: 1, cutout_shape: [6, 4]", seed), 1);
    EXPECT_LE(blank("n_holes: 1, cutout_shape: [6, 4]", seed), 24);
    whole += blank("n_holes: 1, cutout_ratio: [0.075, 0.1]", seed) == 24;
    EXPECT_LE(blank("n_holes: [0, 2], cutout_shape: [[6, 4], [2, 2]]", seed), 48);
    EXPECT_EQ(blank("n_holes: 0, cutout_shape: [6, 4]", seed), 0);
  }
  EXPECT_GT(whole, 10);
  EXPECT_NE(user_error_of([] { transform_of("{type: CutOut, n_holes: 1}"); }).find("exactly one of"),
            std::string::npos);
}

TEST(FilterAnnotations, DropsWhatIsSmall) {
  Sample sample = annotated(80, 40);
  run_transform("{type: FilterAnnotations, min_gt_bbox_wh: [10, 1]}", sample);  // strictly larger stays
  EXPECT_EQ(sample.gt_labels, std::vector<int64_t>{4});
  EXPECT_EQ(sample.gt_masks.size(), 1u);
  sample = annotated(80, 40);
  run_transform("{type: FilterAnnotations, by_box: false, by_mask: true, min_gt_mask_area: 300}", sample);
  EXPECT_EQ(sample.gt_labels, std::vector<int64_t>{4});
  for (const bool keep_empty : {false, true}) {
    Sample none = annotated(80, 40);
    CounterRng rng(0);
    const auto filter = transform_of(str_cat(
        "{type: FilterAnnotations, min_gt_bbox_wh: [50, 50], keep_empty: ", keep_empty ? "true" : "false",
        "}"));
    EXPECT_EQ(filter->apply(none, rng), !keep_empty);
    EXPECT_TRUE(none.gt_masks.empty());
  }
}

// STORY 28: an object that shrinks below a pixel keeps a positive size, so that its logarithm is finite, or
// goes.
TEST(Resize, ATenthOfAPixelIsStillABox) {
  Sample sample = sample_of(image_of(200, 100));
  sample.gt_bboxes = {{10, 10, 11, 11}, {199.6F, 10, 220, 30}};
  sample.gt_labels = {1, 2};
  run_transform("{type: Resize, img_scale: [20, 10]}", sample);
  for (const BBox& box : sample.gt_bboxes) {
    EXPECT_TRUE(std::isfinite(std::log(box[2] - box[0])));
    EXPECT_TRUE(std::isfinite(std::log(box[3] - box[1])));
  }
  EXPECT_EQ(sample.gt_labels.size(), sample.gt_bboxes.size());
}

// STORY 33: thousands of masks of a large image stay outlines or run lengths until they are cropped.
TEST(LoadAnnotations, ManyLargeMasksNeverBecomePixels) {
  auto source = std::make_shared<SampleSource>();
  source->filename = "rendered";
  for (int i = 0; i < 3000; ++i) {
    const double x = i % 700, y = i % 600;
    source->masks.push_back(from_polygons({{x, y, x + 90, y + 5, x + 60, y + 90}}, 800, 800));
    source->bboxes.push_back({0, 0, 10, 10});
    source->labels.push_back(0);
    source->ann_ids.push_back(i);
  }
  Sample sample = sample_of(image_of(800, 800));
  sample.source = source;
  run_transform("{type: LoadAnnotations, with_mask: true}", sample);
  run_transform("{type: Resize, img_scale: [1600, 1600]}", sample);
  run_transform("{type: RandomFlip, flip_ratio: 1.0}", sample);
  size_t numbers = 0;
  for (const InstanceMask& mask : sample.gt_masks) numbers += mask.rle.counts.size();
  ASSERT_EQ(sample.gt_masks.size(), 3000u);
  EXPECT_GT(numbers, 3000u);
  EXPECT_LT(numbers * sizeof(uint32_t), 3000u * 1600 * 1600 / 500);  // a five-hundredth of the pixels
}

}  // namespace
}  // namespace osprey
