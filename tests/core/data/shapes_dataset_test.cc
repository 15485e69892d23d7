#include "core/data/shapes_dataset.h"

#include <opencv2/core.hpp>
#include <set>

#include "core/data/sample.h"
#include "core/mask/instance_mask.h"
#include "tests/core/data/data_files.h"

namespace osprey {
namespace {

constexpr char kPipeline[] =
    "[{type: LoadImageFromFile}, {type: LoadAnnotations, with_mask: true, with_seg: true, poly2mask: false}, "
    "{type: "
    "Collect, keys: [img, gt_bboxes, gt_labels, gt_masks, gt_semantic_seg]}]";

std::unique_ptr<Dataset> shapes(const std::string& more) {
  return build_dataset(parse_config(
      str_cat("{type: ShapesDataset, img_scale: [96, 64], pipeline: ", kPipeline, ", ", more, "}")));
}

Sample sample(const Dataset& dataset, int64_t index) {
  CounterRng rng(0);
  return std::move(dataset.get(index, rng).at(0));
}

TEST(ShapesDataset, ImagesDependOnSeedAndNumberAlone) {
  const auto one = shapes("num_images: 8, seed: 3"),
             other = shapes("num_images: 4, seed: 3, index_offset: 4");
  const auto reseeded = shapes("num_images: 8, seed: 4");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(cv::norm(sample(*one, 4 + i).img, sample(*other, i).img), 0);
    EXPECT_EQ(sample(*one, 4 + i).gt_bboxes, sample(*other, i).gt_bboxes);
    EXPECT_GT(cv::norm(sample(*one, i).img, sample(*other, i).img), 0);
    EXPECT_GT(cv::norm(sample(*one, i).img, sample(*reseeded, i).img), 0);
  }
}

TEST(ShapesDataset, BoxesMasksAndMapsAgree) {
  const auto data = shapes("num_images: 60, classes: [circle, square, triangle, star, cross]");
  std::set<int64_t> seen;
  int occluded = 0;
  for (int i = 0; i < data->size(); ++i) {
    const Sample one = sample(*data, i);
    ASSERT_EQ(one.gt_bboxes.size(), one.gt_masks.size());
    ASSERT_GE(one.gt_bboxes.size(), 1u);
    ASSERT_LE(one.gt_bboxes.size(), 4u);
    for (size_t k = 0; k < one.gt_masks.size(); ++k) {
      seen.insert(one.gt_labels[k]);
      occluded += !one.gt_masks[k].is_polygon();
      const auto [x, y, w, h] = bounding_box(to_rle(one.gt_masks[k]));
      EXPECT_EQ(one.gt_bboxes[k], (BBox{static_cast<float>(x), static_cast<float>(y),
                                        static_cast<float>(x + w), static_cast<float>(y + h)}));
      const Tensor mask = to_bitmap(one.gt_masks[k]);
      for (int64_t p = 0; p < mask.numel(); ++p) {
        if (!mask.data<uint8_t>()[p]) continue;
        const uint8_t label = one.gt_semantic_seg.data[p];
        EXPECT_TRUE(label == one.gt_labels[k] || label == 255) << int{label};
      }
    }
    double least = 0, most = 0;
    cv::minMaxLoc(one.gt_semantic_seg, &least, &most);
    EXPECT_EQ(most, 255);  // edges
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_GT(occluded, 0);
}

TEST(ShapesDataset, DrawsSizesFromItsList) {
  const auto data = build_dataset(parse_config(str_cat(
      "{type: ShapesDataset, num_images: 20, img_scale: [[64, 48], [48, 64]], pipeline: ", kPipeline, "}")));
  std::set<int> groups;
  for (int i = 0; i < 20; ++i) {
    groups.insert(data->group(i));
    EXPECT_EQ(sample(*data, i).img.cols, data->group(i) ? 64 : 48);
  }
  EXPECT_EQ(groups.size(), 2u);
}

TEST(ShapesDataset, ItsOwnAnnotationsArePerfectResults) {
  const auto data = shapes("num_images: 10");
  std::vector<DetectionResult> results(10);
  for (int i = 0; i < 10; ++i) {
    const Sample one = sample(*data, i);
    const auto count = static_cast<int64_t>(one.gt_bboxes.size());
    std::vector<float> boxes;
    for (const BBox& box : one.gt_bboxes) boxes.insert(boxes.end(), box.begin(), box.end());
    results[i].bboxes = Tensor::from(boxes, {count, 4});
    results[i].scores = Tensor::full({count}, 0.5, DType::kF32);
    results[i].labels = Tensor::from(one.gt_labels, {count});
    for (const InstanceMask& mask : one.gt_masks) results[i].masks.push_back(to_rle(mask));
    results[i].has_masks = true;
  }
  EvalOptions options;
  options.metrics = {"bbox", "segm"};
  int perfect = 0;
  for (const auto& [name, value] : data->evaluate(results, options).metrics) {
    if (name == "bbox_mAP" || name == "segm_mAP") perfect += value == 1;
  }
  EXPECT_EQ(perfect, 2);
}

TEST(ShapesDataset, RefusesUnknownShapes) {
  const std::string message = testing::user_error_of([] { shapes("classes: [circle, heptagon]"); });
  EXPECT_NE(message.find("unknown shape 'heptagon'; there are: circle, cross, square, star, triangle"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace osprey
