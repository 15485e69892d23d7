#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/detection/batch.h"

namespace osprey {

using BBox = std::array<float, 4>;  // x1, y1, x2, y2 in pixels

// Width and height in pixels, in mmdetection's order. With keep_ratio the order carries no meaning: the
// larger number bounds the long side, the smaller one the short side.
struct ImgScale {
  int64_t w = 0, h = 0;
  bool operator==(const ImgScale&) const = default;
};

// A sample that cannot be used: its file is missing or broken, or its annotation makes no sense. what()
// begins with the file's name. `data.on_error` decides whether training stops or takes another sample.
class SampleError : public UserError {
 public:
  SampleError(const std::string& filename, const std::string& problem)
      : UserError(str_cat(filename, ": ", problem)), filename_(filename) {}
  const std::string& filename() const { return filename_; }

 private:
  std::string filename_;
};

// What a dataset knows of one image before the pipeline runs (mmdetection's img_info and ann_info). Immutable
// and shared between the augmentations of a sample.
struct SampleSource {
  std::string filename;  // path of the image; a mere name when `image` is there
  std::string seg_map;   // path of the semantic PNG; "" when the dataset has no seg_prefix
  int64_t image_id = -1;
  int64_t h = 0, w = 0;  // as the annotations say; 0 when they do not

  std::vector<BBox> bboxes;
  std::vector<int64_t> labels;   // in [0, num_classes)
  std::vector<int64_t> ann_ids;  // for messages
  InstanceMasks masks;           // at image size; h is 0 where an annotation has no segmentation
  std::vector<BBox> bboxes_ignore;

  cv::Mat image;            // a rendered image, BGR u8; empty when `filename` is a file
  cv::Mat gt_semantic_seg;  // its semantic map, u8
};

// One image with its annotations on its way through the pipeline. Members that no transform has filled are
// empty; gt_labels and gt_masks, when loaded, run parallel to gt_bboxes.
struct Sample {
  std::shared_ptr<const SampleSource> source;
  ImgMeta meta;
  cv::Mat img;  // u8 or f32, (h, w, 3); BGR until Normalize swaps
  std::vector<BBox> gt_bboxes;
  std::vector<int64_t> gt_labels;
  std::vector<BBox> gt_bboxes_ignore;
  InstanceMasks gt_masks;
  cv::Mat gt_semantic_seg;  // u8 (h, w), 255 = ignore

  // Choices that MultiScaleFlipAug makes in advance for the transforms below it; unset, each draws its own.
  std::optional<ImgScale> scale;
  std::optional<double> scale_factor;
  std::optional<bool> flip;

  std::set<std::string> collected;  // what Collect lets into the batch
};
using Samples = std::vector<Sample>;

// Drops every instance i with keep[i] false: box, label and mask.
void keep_instances(Sample& sample, const std::vector<bool>& keep);

}  // namespace osprey
