// Real images: the coco128 folder in OSPREY_COCO128_DIR, or in shared/data beside the repository.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "core/data/coco_dataset.h"
#include "core/data/data_loader.h"
#include "core/data/pipelines/image_io.h"
#include "core/data/sample.h"
#include "tests/golden.h"

namespace osprey {
namespace {

std::string coco128() {
  if (const char* folder = std::getenv("OSPREY_COCO128_DIR")) return folder;
  // Bazel runs tests elsewhere; a fixture is a link into the repository.
  std::filesystem::path folder =
      std::filesystem::canonical(testing::Golden::shipped_file("ops/pipeline.json"));
  for (; folder != folder.root_path(); folder = folder.parent_path()) {
    const auto candidate = folder / "../shared/data/coco128";
    if (std::filesystem::is_directory(candidate)) return candidate.string();
  }
  return "";
}

constexpr char kPipeline[] = R"(
  - {type: LoadImageFromFile}
  - {type: LoadAnnotations, with_bbox: true, with_mask: true, with_seg: true}
  - {type: Resize, img_scale: [1333, 800], keep_ratio: true}
  - {type: RandomFlip, flip_ratio: 0.5}
  - {type: Normalize, mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375], to_rgb: true}
  - {type: Pad, size_divisor: 32}
  - {type: SegRescale, scale_factor: 0.125}
  - {type: DefaultFormatBundle}
  - {type: Collect, keys: [img, gt_bboxes, gt_labels, gt_masks, gt_semantic_seg, gt_bboxes_ignore]}
)";

class Coco128Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (coco128().empty()) GTEST_SKIP() << "set OSPREY_COCO128_DIR to the coco128 folder";
  }
  static std::shared_ptr<const Dataset> train() {
    return build_dataset(parse_config(
        str_cat("type: CocoDataset\nann_file: annotations/instances_train2017.json\nimg_prefix: train2017/\n"
                "seg_prefix: stuffthingmaps/train2017/\ndata_root: ",
                coco128(), "\npipeline:", kPipeline)));
  }
};

TEST_F(Coco128Test, DecodesAsTheReference) {
  const auto golden = testing::Golden::open("ops/pipeline");
  for (const std::string& name : golden.cases("op", {"imread"})) {
    const cv::Mat image = read_image(coco128() + "/" + golden.text(name, "file"), cv::IMREAD_COLOR);
    const std::vector<double> sums = golden.tensor(name + "/channel_sums").to_doubles();
    const cv::Scalar sum = cv::sum(image);
    for (int c = 0; c < 3; ++c) EXPECT_NUMBER_NEAR(sum[c], sums[static_cast<size_t>(c)], 0, 1e-3) << name;
    const auto origin = golden.integers(name, "crop_yx");
    const Tensor& crop = golden.tensor(name + "/crop");
    const cv::Mat part = image(cv::Rect(static_cast<int>(origin[1]), static_cast<int>(origin[0]),
                                        static_cast<int>(crop.dim(1)), static_cast<int>(crop.dim(0))))
                             .clone();
    Tensor got(crop.shape(), DType::kU8);
    std::memcpy(got.mutable_raw(), part.data, got.bytes());
    EXPECT_TENSOR_NEAR(got, crop, 2, 0) << name;  // decoders may round differently
  }
}

TEST_F(Coco128Test, LoadsEveryTrainingImage) {
  const auto dataset = train();
  EXPECT_EQ(dataset->size(), 98);  // two of a hundred have no annotation
  EXPECT_EQ(dataset->classes().size(), 80u);
  LoaderOptions options;
  options.samples_per_gpu = 2;
  DataLoader loader(dataset, options);
  loader.begin_epoch(0, 0);
  int64_t images = 0, boxes = 0, crowds = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (Batch batch; loader.next(batch); images += batch.size()) {
    EXPECT_EQ(batch.img.dim(1) % 32, 0);
    EXPECT_EQ(batch.gt_semantic_seg.dim(1), batch.img.dim(1) / 8);
    EXPECT_TRUE(all_finite(batch.img));
    for (int64_t i = 0; i < batch.size(); ++i) {
      boxes += batch.gt_bboxes[i].dim(0);
      crowds += batch.gt_bboxes_ignore[i].dim(0);
      EXPECT_EQ(static_cast<int64_t>(batch.gt_masks[i].size()), batch.gt_bboxes[i].dim(0));
      for (const InstanceMask& mask : batch.gt_masks[i]) EXPECT_EQ(mask.w, batch.img.dim(2));
    }
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(images, 98);
  EXPECT_GE(boxes, 700);
  EXPECT_GE(crowds, 6);
  std::cout << "full-size HTC pipeline, 2 workers: " << time.count() / static_cast<double>(images)
            << " ms an image\n";
}

}  // namespace
}  // namespace osprey
