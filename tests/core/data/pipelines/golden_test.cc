// The image arithmetic of mmcv 1.7.2 with OpenCV 4.6, as mmdetection 2.11's pipeline uses it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/data/pipelines/img_scale.h"
#include "tests/core/data/pipelines/sample_of.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;
using testing::run_transform;
using testing::sample_of;
using testing::to_boxes;
using testing::to_mat;
using testing::to_tensor;

class PipelineGolden : public ::testing::Test {
 protected:
  std::vector<std::string> cases_of(const std::string& op) const {
    std::vector<std::string> names;
    for (const std::string& name : golden_.cases()) {
      if (golden_.text(name, "op") == op) names.push_back(name);
    }
    EXPECT_FALSE(names.empty()) << op;
    return names;
  }
  Sample sample(const std::string& name) const { return sample_of(to_mat(golden_.tensor(name + "/image"))); }
  // A sample whose semantic map is the image of the case.
  Sample seg_sample(const std::string& name) const {
    Sample sample = this->sample(name);
    sample.gt_semantic_seg = sample.img.clone();
    return sample;
  }
  Tensor tensor(const std::string& name, const char* key) const { return golden_.tensor(name + "/" + key); }
  std::string list(const std::string& name, const char* key) const {
    return str_cat("[", join(golden_.numbers(name, key)), "]");
  }

  const Golden golden_ = Golden::open("ops/pipeline");
};

TEST_F(PipelineGolden, ResizesImagesBilinearlyAndMapsNearest) {
  for (const std::string& name : cases_of("imresize")) {
    Sample sample = seg_sample(name);
    run_transform(str_cat("{type: Resize, keep_ratio: false, img_scale: ", list(name, "size_wh"), "}"),
                  sample);
    const bool nearest = golden_.text(name, "interpolation") == "nearest";
    EXPECT_TENSOR_EQ(to_tensor(nearest ? sample.gt_semantic_seg : sample.img), tensor(name, "result"))
        << name;
  }
}

TEST_F(PipelineGolden, SegRescale) {
  for (const std::string& name : cases_of("imrescale")) {
    Sample sample = seg_sample(name);
    run_transform(str_cat("{type: SegRescale, scale_factor: ", golden_.number(name, "scale"), "}"), sample);
    EXPECT_TENSOR_EQ(to_tensor(sample.gt_semantic_seg), tensor(name, "result")) << name;
  }
}

TEST_F(PipelineGolden, Normalize) {
  for (const std::string& name : cases_of("imnormalize")) {
    for (const bool to_float32 : {false, true}) {
      Sample sample = this->sample(name);
      if (to_float32) sample.img.convertTo(sample.img, CV_32F);
      run_transform(str_cat("{type: Normalize, mean: ", list(name, "mean"), ", std: ", list(name, "std"),
                            ", to_rgb: ", golden_.flag(name, "to_rgb") ? "true" : "false", "}"),
                    sample);
      EXPECT_TENSOR_EQ(to_tensor(sample.img), tensor(name, "result")) << name;
    }
  }
}

TEST_F(PipelineGolden, PadsToAMultiple) {
  for (const std::string& name : cases_of("impad_to_multiple")) {
    Sample sample = this->sample(name);
    run_transform(str_cat("{type: Pad, size_divisor: ", golden_.integer(name, "divisor"),
                          ", pad_val: ", golden_.number(name, "pad_val"), "}"),
                  sample);
    EXPECT_TENSOR_EQ(to_tensor(sample.img), tensor(name, "result")) << name;
    EXPECT_EQ(sample.meta.pad_shape[0], sample.img.rows);
  }
}

TEST_F(PipelineGolden, PadsSemanticMapsWithTheIgnoreLabel) {
  for (const std::string& name : cases_of("impad")) {
    Sample sample = seg_sample(name);
    ASSERT_EQ(golden_.integer(name, "pad_val"), 255) << "Pad fills semantic maps with the ignore label";
    run_transform(str_cat("{type: Pad, size: ", list(name, "shape"), "}"), sample);
    EXPECT_TENSOR_EQ(to_tensor(sample.gt_semantic_seg), tensor(name, "result")) << name;
  }
}

TEST_F(PipelineGolden, FlipsImageAndBoxes) {
  for (const std::string& name : cases_of("RandomFlip")) {
    Sample sample = this->sample(name);
    sample.gt_bboxes = sample.gt_bboxes_ignore = to_boxes(tensor(name, "boxes"));
    run_transform(
        str_cat("{type: RandomFlip, flip_ratio: 1.0, direction: ", golden_.text(name, "direction"), "}"),
        sample);
    EXPECT_TENSOR_EQ(to_tensor(sample.img), tensor(name, "result")) << name;
    EXPECT_TENSOR_EQ(to_tensor(sample.gt_bboxes), tensor(name, "result_boxes")) << name;
    EXPECT_TENSOR_EQ(to_tensor(sample.gt_bboxes_ignore), tensor(name, "result_boxes")) << name;
    EXPECT_TRUE(sample.meta.flip);
  }
}

TEST_F(PipelineGolden, ResizesImageAndBoxes) {
  for (const std::string& name : cases_of("Resize")) {
    Sample sample = this->sample(name);
    // Ignored boxes: of the others those that the border swallows are dropped.
    sample.gt_bboxes_ignore = to_boxes(tensor(name, "boxes"));
    run_transform(
        str_cat("{type: Resize, img_scale: ", list(name, "img_scale"),
                ", keep_ratio: ", golden_.flag(name, "keep_ratio") ? "true" : "false",
                ", bbox_clip_border: ", golden_.flag(name, "bbox_clip_border") ? "true" : "false", "}"),
        sample);
    EXPECT_TENSOR_EQ(to_tensor(sample.img), tensor(name, "result")) << name;
    EXPECT_TENSOR_EQ(to_tensor(sample.gt_bboxes_ignore), tensor(name, "result_boxes")) << name;
    const auto& factor = sample.meta.scale_factor;
    EXPECT_TENSOR_EQ(Tensor::from(std::vector<float>(factor.begin(), factor.end()), {4}),
                     tensor(name, "scale_factor"))
        << name;
  }
}

TEST(RescaleSize, AgreesWithMmcv) {
  const Golden golden = Golden::open("ops/rescale_sizes");
  const nlohmann::json& rows = golden.json()["rows"];
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) {
    const int64_t w = row[0], h = row[1];
    const auto& scale = row[2];
    const ImgScale size = scale.is_array() ? rescale_size(w, h, ImgScale{scale[0], scale[1]})
                                           : rescale_size(w, h, scale.get<double>());
    EXPECT_EQ(size, (ImgScale{row[3], row[4]})) << row;
    EXPECT_EQ(static_cast<float>(size.w) / static_cast<float>(w), row[6].get<float>()) << row;
    EXPECT_EQ(static_cast<float>(size.h) / static_cast<float>(h), row[7].get<float>()) << row;
  }
  for (const auto& row : golden.json()["pad_to_multiple"]["rows"]) {
    Sample sample = sample_of(cv::Mat(row[0].get<int>(), row[1].get<int>(), CV_8UC3));
    run_transform(str_cat("{type: Pad, size_divisor: ", row[2].get<int>(), "}"), sample);
    EXPECT_EQ(sample.img.rows, row[3].get<int>()) << row;
    EXPECT_EQ(sample.img.cols, row[4].get<int>()) << row;
  }
}

}  // namespace
}  // namespace osprey
