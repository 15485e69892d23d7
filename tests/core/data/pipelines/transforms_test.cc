#include <gtest/gtest.h>

#include <set>

#include "core/data/collate.h"
#include "core/data/draw_sample.h"
#include "core/data/pipelines/image_io.h"
#include "core/mask/instance_mask.h"
#include "tests/core/data/data_files.h"
#include "tests/core/data/pipelines/sample_of.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::run_transform;
using testing::sample_of;
using testing::to_tensor;
using testing::transform_of;
using testing::user_error_of;

cv::Mat image_of(int w, int h) { return cv::Mat(h, w, CV_8UC3, cv::Scalar(1, 2, 3)); }

// One box of each kind, a mask, a semantic map.
Sample annotated(int w, int h) {
  Sample sample = sample_of(image_of(w, h));
  sample.gt_bboxes = {{10, 5, 30, 25}};
  sample.gt_labels = {4};
  sample.gt_bboxes_ignore = {{1, 2, 3, 4}};
  sample.gt_masks = {from_polygons({{10, 5, 30, 5, 30, 25, 10, 25}}, h, w)};
  sample.gt_semantic_seg = cv::Mat(h, w, CV_8U, cv::Scalar(7));
  return sample;
}

std::set<int64_t> short_sides(const std::string& yaml, int draws) {
  std::set<int64_t> sides;
  for (int seed = 0; seed < draws; ++seed) {
    Sample sample = sample_of(image_of(200, 100));
    run_transform(yaml, sample, seed);
    sides.insert(sample.img.rows);
  }
  return sides;
}

TEST(Resize, RangeDrawsEverySizeBetweenItsTwoScales) {
  const auto sides = short_sides("{type: Resize, img_scale: [[40, 1000], [44, 1000]], keep_ratio: true}", 60);
  EXPECT_EQ(sides, (std::set<int64_t>{40, 41, 42, 43, 44}));
}

TEST(Resize, ValueDrawsFromItsList) {
  const auto sides =
      short_sides("{type: Resize, img_scale: [[40, 900], [50, 900], [60, 900]], multiscale_mode: value}", 60);
  EXPECT_EQ(sides, (std::set<int64_t>{40, 50, 60}));
}

TEST(Resize, RatioRangeMultipliesItsScale) {
  const auto sides = short_sides("{type: Resize, img_scale: [100, 50], ratio_range: [0.5, 2.0]}", 60);
  EXPECT_GE(*sides.begin(), 25);
  EXPECT_LE(*sides.rbegin(), 100);
  EXPECT_GT(sides.size(), 20u);
}

TEST(Resize, ScalesMasksAndMapsWithTheImage) {
  Sample sample = annotated(80, 40);
  run_transform("{type: Resize, img_scale: [160, 80]}", sample);
  EXPECT_EQ(sample.gt_masks[0].w, 160);
  EXPECT_DOUBLE_EQ(area(sample.gt_masks[0]), 40 * 40);
  EXPECT_EQ(sample.gt_semantic_seg.size(), sample.img.size());
  EXPECT_EQ(sample.meta.img_shape, (std::array<int64_t, 2>{80, 160}));
}

TEST(Resize, DropsWhatTheBorderLeavesNothingOf) {
  Sample sample = annotated(80, 40);
  sample.gt_bboxes.push_back({90, 5, 100, 25});
  sample.gt_labels.push_back(5);
  sample.gt_masks.push_back(sample.gt_masks[0]);
  run_transform("{type: Resize, img_scale: [160, 80]}", sample);
  EXPECT_EQ(sample.gt_bboxes.size(), 1u);
  EXPECT_EQ(sample.gt_labels, std::vector<int64_t>{4});
  EXPECT_EQ(sample.gt_masks.size(), 1u);
}

TEST(Resize, RefusesSettingsThatContradict) {
  EXPECT_NE(user_error_of([] {
              transform_of("{type: Resize, img_scale: [[1, 2], [3, 4], [5, 6]]}");
            }).find("'range' needs two scales, got 3"),
            std::string::npos);
  EXPECT_NE(user_error_of([] {
              transform_of("{type: Resize, img_scale: [[1, 2], [3, 4]], ratio_range: [0.5, 1]}");
            }).find("exactly one img_scale"),
            std::string::npos);
  EXPECT_NE(
      user_error_of([] { transform_of("{type: Resize, img_scale: [0, 4]}"); }).find("two positive numbers"),
      std::string::npos);
}

TEST(RandomFlip, TwiceIsNothing) {
  for (const char* direction : {"horizontal", "vertical", "diagonal"}) {
    Sample sample = annotated(80, 40);
    sample.img.at<cv::Vec3b>(3, 11) = cv::Vec3b(9, 9, 9);
    const Sample before = sample;
    const cv::Mat pixels = sample.img.clone();
    const std::string flip = str_cat("{type: RandomFlip, flip_ratio: 1.0, direction: ", direction, "}");
    run_transform(flip, sample);
    EXPECT_NE(sample.gt_bboxes, before.gt_bboxes) << direction;
    run_transform(flip, sample);
    EXPECT_EQ(sample.gt_bboxes, before.gt_bboxes) << direction;
    EXPECT_EQ(sample.gt_masks[0].polygons, before.gt_masks[0].polygons) << direction;
    EXPECT_EQ(cv::norm(sample.img, pixels), 0) << direction;
  }
}

TEST(RandomFlip, RatiosAreFrequencies) {
  const auto flip =
      transform_of("{type: RandomFlip, flip_ratio: [0.2, 0.3], direction: [horizontal, vertical]}");
  int horizontal = 0, vertical = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Sample sample = sample_of(image_of(4, 4));
    CounterRng rng(seed);
    flip->apply(sample, rng);
    horizontal += sample.meta.flip && sample.meta.flip_direction == "horizontal";
    vertical += sample.meta.flip && sample.meta.flip_direction == "vertical";
  }
  EXPECT_NEAR(horizontal, 200, 50);  // four standard deviations
  EXPECT_NEAR(vertical, 300, 58);
}

TEST(RandomFlip, RefusesImpossibleRatios) {
  EXPECT_NE(user_error_of([] { transform_of("{type: RandomFlip, flip_ratio: 1.5}"); }).find("1.5"),
            std::string::npos);
  EXPECT_NE(user_error_of([] {
              transform_of("{type: RandomFlip, flip_ratio: [0.7, 0.7], direction: [horizontal, vertical]}");
            }).find("more than 1"),
            std::string::npos);
}

TEST(RandomCrop, MovesEverythingByTheSameWindow) {
  for (int seed = 0; seed < 30; ++seed) {
    Sample sample = annotated(80, 40);
    // The image carries its coordinates, so that the window can be read off.
    for (int y = 0; y < 40; ++y) {
      for (int x = 0; x < 80; ++x) {
        sample.img.at<cv::Vec3b>(y, x) = cv::Vec3b(static_cast<uint8_t>(x), static_cast<uint8_t>(y), 0);
      }
    }
    const double whole = area(sample.gt_masks[0]);
    run_transform("{type: RandomCrop, crop_size: [38, 60], bbox_clip_border: false}", sample, seed);
    const auto corner = sample.img.at<cv::Vec3b>(0, 0);
    ASSERT_EQ(sample.img.size(), cv::Size(60, 38));
    EXPECT_EQ(sample.gt_bboxes[0][0], 10 - corner[0]);
    EXPECT_EQ(sample.gt_bboxes[0][3], 25 - corner[1]);
    EXPECT_EQ(sample.gt_masks[0].w, 60);
    EXPECT_LE(area(sample.gt_masks[0]), whole);
    EXPECT_EQ(sample.gt_semantic_seg.size(), sample.img.size());
  }
}

TEST(RandomCrop, RejectsAWindowWithoutAnyBox) {
  const auto crops_without_box = [](const std::string& more) {
    int rejected = 0;
    const auto crop = transform_of(str_cat("{type: RandomCrop, crop_size: [5, 5]", more, "}"));
    for (int seed = 0; seed < 50; ++seed) {
      Sample sample = annotated(80, 40);
      CounterRng rng(seed);
      const bool kept = crop->apply(sample, rng);
      rejected += !kept;
      EXPECT_EQ(sample.gt_labels.size(), sample.gt_bboxes.size());
      EXPECT_EQ(sample.gt_masks.size(), sample.gt_bboxes.size());
    }
    return rejected;
  };
  EXPECT_GT(crops_without_box(""), 10);
  EXPECT_EQ(crops_without_box(", allow_negative_crop: true"), 0);
}

TEST(RandomCrop, KnowsFourWaysToSizeItsWindow) {
  const auto heights = [](const std::string& type_and_size) {
    std::set<int> seen;
    for (int seed = 0; seed < 60; ++seed) {
      Sample sample = sample_of(image_of(80, 40));
      run_transform(str_cat("{type: RandomCrop, ", type_and_size, "}"), sample, seed);
      seen.insert(sample.img.rows);
    }
    return seen;
  };
  EXPECT_EQ(heights("crop_type: absolute, crop_size: [100, 10]"), std::set<int>{40});
  EXPECT_EQ(heights("crop_type: absolute_range, crop_size: [10, 12]"), (std::set<int>{10, 11, 12}));
  EXPECT_EQ(heights("crop_type: relative, crop_size: [0.5, 0.25]"), std::set<int>{20});
  const std::set<int> drawn = heights("crop_type: relative_range, crop_size: [0.5, 0.25]");
  EXPECT_GE(*drawn.begin(), 20);
  EXPECT_LE(*drawn.rbegin(), 40);
  EXPECT_GT(drawn.size(), 8u);
}

TEST(Pad, KeepsMasksAtTheSizeOfTheImage) {
  Sample sample = annotated(80, 40);
  run_transform("{type: Pad, size_divisor: 32, pad_val: {img: 9, seg: 3}}", sample);
  EXPECT_EQ(sample.img.size(), cv::Size(96, 64));
  EXPECT_EQ(sample.img.at<cv::Vec3b>(63, 95), cv::Vec3b(9, 9, 9));
  EXPECT_EQ(sample.gt_masks[0].h, 64);
  EXPECT_EQ(sample.gt_semantic_seg.at<uint8_t>(63, 95), 3);
  EXPECT_EQ(sample.meta.img_shape, (std::array<int64_t, 2>{40, 80}));
}

TEST(Pad, RefusesAnImageThatDoesNotFit) {
  Sample sample = annotated(80, 40);
  EXPECT_NE(user_error_of([&] {
              run_transform("{type: Pad, size: [32, 96]}", sample);
            }).find("smaller than the image, 40x80"),
            std::string::npos);
  EXPECT_NE(user_error_of([] { transform_of("{type: Pad}"); }).find("exactly one of size and size_divisor"),
            std::string::npos);
}

TEST(MultiScaleFlipAug, RunsScalesOutsideAndFlipsInside) {
  const auto aug = transform_of(
      "{type: MultiScaleFlipAug, img_scale: [[40, 40], [80, 80]], flip: true, flip_direction: [horizontal, "
      "vertical], "
      "transforms: [{type: Resize, keep_ratio: true}, {type: RandomFlip}, {type: Collect, keys: [img]}]}");
  CounterRng rng(0);
  const Samples samples = aug->expand(sample_of(image_of(20, 10)), rng);
  ASSERT_EQ(samples.size(), 6u);
  const std::vector<std::string> expected = {"40", "40 horizontal", "40 vertical",
                                             "80", "80 horizontal", "80 vertical"};
  for (size_t i = 0; i < samples.size(); ++i) {
    const ImgMeta& meta = samples[i].meta;
    EXPECT_EQ(str_cat(samples[i].img.cols, meta.flip ? " " + meta.flip_direction : ""), expected[i]);
  }
}

TEST(MultiScaleFlipAug, AugmentationsDoNotShareTheirPixels) {
  const auto aug = transform_of(
      "{type: MultiScaleFlipAug, scale_factor: [1.0, 2.0], flip: true, transforms: [{type: RandomFlip}, "
      "{type: ImageToTensor, keys: [img]}, {type: Collect, keys: [img]}]}");
  cv::Mat image = image_of(2, 1);
  image.at<cv::Vec3b>(0, 0) = cv::Vec3b(200, 200, 200);
  CounterRng rng(0);
  const Samples samples = aug->expand(sample_of(image), rng);
  ASSERT_EQ(samples.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(samples[i].img.at<cv::Vec3f>(0, i % 2 ? 1 : 0)[0], 200) << i;
    EXPECT_EQ(samples[i].img.at<cv::Vec3f>(0, i % 2 ? 0 : 1)[0], 1) << i;
  }
}

TEST(Pipeline, RefusesWhatItCannotCollect) {
  const auto check = [](const std::string& yaml) {
    SampleKeys keys;
    Pipeline(parse_config("p: " + yaml)["p"]).check_keys(keys);
  };
  EXPECT_NE(
      user_error_of([&] {
        check("[{type: LoadImageFromFile}, {type: LoadAnnotations}, {type: Collect, keys: [img, gt_masks]}]");
      }).find("nothing loads 'gt_masks': LoadAnnotations needs with_mask: true"),
      std::string::npos);
  EXPECT_NE(user_error_of([&] {
              check("[{type: LoadImageFromFile}, {type: Collect, keys: [img, gt_bbox]}]");
            }).find("Did you mean 'gt_bboxes'?"),
            std::string::npos);
  EXPECT_NE(user_error_of([&] {
              check("[{type: Resize, img_scale: [4, 4]}]");
            }).find("LoadImageFromFile must come"),
            std::string::npos);
  EXPECT_NE(
      user_error_of([&] { check("[{type: LoadImageFromFile}, {type: Resize}]"); }).find("needs img_scale"),
      std::string::npos);
}

TEST(LoadImageFromFile, NamesBrokenFiles) {
  const testing::Folder folder;
  folder.write_image("whole.jpg", 64, 48);
  folder.write_image("cut.jpg", 64, 48);
  folder.truncate("cut.jpg");
  folder.write("text.jpg", "no image at all");
  folder.write("empty.jpg", "");
  EXPECT_EQ(read_image(folder / "whole.jpg", cv::IMREAD_COLOR).cols, 64);
  for (const auto& [name, problem] : std::map<std::string, std::string>{{"cut.jpg", "truncated JPEG"},
                                                                        {"text.jpg", "no image"},
                                                                        {"empty.jpg", "empty"},
                                                                        {"none.jpg", "No such file"}}) {
    const std::string message = user_error_of([&] { read_image(folder / name, cv::IMREAD_COLOR); });
    EXPECT_EQ(message.rfind(folder / name, 0), 0u) << message;
    EXPECT_NE(message.find(problem), std::string::npos) << message;
  }
}

TEST(LoadImageFromFile, RepeatsGreyInThreeChannels) {
  const testing::Folder folder;
  cv::imwrite(folder / "grey.png", cv::Mat(4, 5, CV_8U, cv::Scalar(99)));
  for (const char* color_type : {"color", "grayscale", "unchanged"}) {
    Sample sample;
    auto source = std::make_shared<SampleSource>();
    source->filename = folder / "grey.png";
    sample.source = source;
    run_transform(str_cat("{type: LoadImageFromFile, to_float32: true, color_type: ", color_type, "}"),
                  sample);
    ASSERT_EQ(sample.img.type(), CV_32FC3) << color_type;
    EXPECT_EQ(sample.img.at<cv::Vec3f>(3, 4), cv::Vec3f(99, 99, 99)) << color_type;
    EXPECT_EQ(sample.meta.ori_shape, (std::array<int64_t, 2>{4, 5}));
  }
}

TEST(LoadAnnotations, Poly2maskDecidesWhetherMasksAreResizedAsPixels) {
  Sample sample = sample_of(image_of(80, 40));
  auto source = std::make_shared<SampleSource>();
  source->filename = "rendered";
  source->bboxes = {{1, 1, 30, 30}};
  source->labels = {0};
  source->ann_ids = {5};
  source->masks = {from_polygons({{1, 1, 30, 2, 10, 30}}, 40, 80)};
  sample.source = source;
  run_transform("{type: LoadAnnotations, with_mask: true, poly2mask: false}", sample);
  EXPECT_TRUE(sample.gt_masks.at(0).is_polygon());
  run_transform("{type: LoadAnnotations, with_mask: true}", sample);
  EXPECT_FALSE(sample.gt_masks.at(0).is_polygon());
  EXPECT_TRUE(bitwise_equal(to_bitmap(sample.gt_masks[0]), to_bitmap(source->masks[0])));
}

TEST(FormatTransforms, MakeFloatsOfBytes) {
  for (const char* yaml : {"{type: DefaultFormatBundle}", "{type: ImageToTensor, keys: [img]}"}) {
    Sample sample = sample_of(image_of(4, 4));
    run_transform(yaml, sample);
    EXPECT_EQ(sample.img.type(), CV_32FC3) << yaml;
    EXPECT_EQ(sample.img.at<cv::Vec3f>(0, 0), cv::Vec3f(1, 2, 3)) << yaml;
  }
}

TEST(DrawSample, MarksMasksAndBoxes) {
  const Sample sample = annotated(80, 40);
  const cv::Mat drawn = draw_sample(sample, {"a", "b", "c", "d", "e"});
  EXPECT_NE(drawn.at<cv::Vec3b>(22, 28), sample.img.at<cv::Vec3b>(22, 28));
  EXPECT_EQ(drawn.at<cv::Vec3b>(38, 70), sample.img.at<cv::Vec3b>(38, 70));
}

TEST(DrawSample, ASmallImageIsEnlargedAsAWhole) {
  const Sample sample = annotated(80, 40);
  const Sample large = enlarged_for_drawing(sample);
  EXPECT_EQ(large.img.size(), cv::Size(80 * 12, 40 * 12));
  EXPECT_EQ(large.img.at<cv::Vec3b>(13, 25), sample.img.at<cv::Vec3b>(1, 2));
  ASSERT_EQ(large.gt_bboxes.size(), sample.gt_bboxes.size());
  EXPECT_EQ(large.gt_bboxes[0][2], 12 * sample.gt_bboxes[0][2]);
  EXPECT_EQ(large.gt_masks.at(0).w, 80 * 12);
  EXPECT_EQ(enlarged_for_drawing(large).img.size(), large.img.size());
}

TEST(LoadImageFromFile, TheEndOfAThumbnailIsNotTheEndOfTheImage) {
  const std::vector<uint8_t> head = {0xFF, 0xD8, 0xFF, 0xE1, 0x00,
                                     0x06, 0xFF, 0xD8, 0xFF, 0xD9};  // APP1 holds a JPEG
  std::vector<uint8_t> bytes = head;
  EXPECT_FALSE(is_complete_jpeg(bytes));
  for (const int byte : {0xFF, 0xDA, 0x00, 0x02, 0x12, 0xFF, 0x00, 0xFF, 0xD0, 0x34}) bytes.push_back(byte);
  EXPECT_FALSE(is_complete_jpeg(bytes));
  for (const int byte : {0xFF, 0xD9}) bytes.push_back(byte);
  EXPECT_TRUE(is_complete_jpeg(bytes));
}

TEST(Collate, PadsToTheLargestOfTheBatch) {
  Samples samples = {annotated(80, 40), annotated(40, 60)};
  samples[1].gt_bboxes.clear();
  samples[1].gt_labels.clear();
  samples[1].gt_masks.clear();
  for (Sample& sample : samples) {
    run_transform(
        "{type: Collect, keys: [img, gt_bboxes, gt_labels, gt_bboxes_ignore, gt_masks, gt_semantic_seg]}",
        sample);
  }
  const Batch batch = collate(samples);
  EXPECT_EQ(batch.img.shape(), (Shape{2, 60, 80, 3}));
  const float* pixels = batch.img.data<float>();
  const auto pixel = [&](int n, int y, int x) { return pixels[((n * 60 + y) * 80 + x) * 3]; };
  EXPECT_EQ(pixel(0, 39, 79), 1);
  EXPECT_EQ(pixel(0, 40, 79), 0);
  EXPECT_EQ(pixel(1, 59, 39), 1);
  EXPECT_EQ(pixel(1, 59, 40), 0);
  EXPECT_EQ(batch.gt_masks[0][0].h, 60);
  EXPECT_EQ(batch.gt_bboxes[1].shape(), (Shape{0, 4}));
  EXPECT_EQ(batch.gt_labels[1].shape(), (Shape{0}));
  EXPECT_EQ(batch.gt_semantic_seg.shape(), (Shape{2, 60, 80}));
  const uint8_t* map = batch.gt_semantic_seg.data<uint8_t>();
  EXPECT_EQ(map[39 * 80 + 79], 7);
  EXPECT_EQ(map[40 * 80], 255);
}

TEST(TransformRegistry, HasTheFullList) {
  EXPECT_EQ(Registry<Transform>::instance().names(), (std::vector<std::string>{"AutoAugment",
                                                                               "BrightnessTransform",
                                                                               "Collect",
                                                                               "ColorTransform",
                                                                               "ContrastTransform",
                                                                               "CutOut",
                                                                               "DefaultFormatBundle",
                                                                               "EqualizeTransform",
                                                                               "Expand",
                                                                               "FilterAnnotations",
                                                                               "ImageToTensor",
                                                                               "LoadAnnotations",
                                                                               "LoadImageFromFile",
                                                                               "MinIoURandomCrop",
                                                                               "MultiScaleFlipAug",
                                                                               "Normalize",
                                                                               "Pad",
                                                                               "PhotoMetricDistortion",
                                                                               "RandomCrop",
                                                                               "RandomFlip",
                                                                               "Resize",
                                                                               "Rotate",
                                                                               "SegRescale",
                                                                               "Shear",
                                                                               "Translate"}));
}

}  // namespace
}  // namespace osprey
