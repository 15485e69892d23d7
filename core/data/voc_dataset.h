#pragma once

#include <string>
#include <vector>

#include "core/data/custom_dataset.h"
#include "core/data/voc_annotation.h"

namespace osprey {

// PASCAL VOC: ann_file lists the ids of the images, one a line; JPEGImages/ID.jpg and Annotations/ID.xml lie
// below img_prefix. Keys as in mmdetection: ann_file, img_prefix, pipeline, classes (VOC's 20), data_root,
// test_mode, filter_empty_gt, min_size (objects under it, in pixels, are ignored; training only); and
// num_images, which keeps the first N images.
//
// Boxes are the file's less 1, as mmdetection's. Difficult objects become gt_bboxes_ignore. In training,
// images under 32 pixels a side are left out and, with filter_empty_gt, those without an object of the
// classes. An object whose box has no area is left out, and reported once.
//
// Evaluation: metric mAP (AP50, ... for each of iou_thr, and their mean), by eleven points where img_prefix
// names VOC2007, else by the area under the curve.
class VOCDataset final : public CustomDataset {
 public:
  explicit VOCDataset(const ConfigNode& cfg);

  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int group(int64_t index) const override { return images_[index].w > images_[index].h ? 1 : 0; }
  std::vector<int64_t> labels(int64_t index) const override;
  void check_options(const EvalOptions& options) const override;
  EvalReport evaluate(const std::vector<DetectionResult>& results, const EvalOptions& options) const override;
  void format_results(const std::vector<DetectionResult>& results, const std::string& prefix) const override;

 private:
  struct Object {
    int64_t label;
    BBox bbox;
    bool ignore;
  };
  struct Image {
    std::string id;
    int64_t w = 0, h = 0;
    std::vector<Object> objects;  // of the classes
  };

  SampleSource source(int64_t index) const override;
  std::string image_path(const std::string& id) const;
  Image read_image(const std::string& id, std::vector<std::string>& invalid) const;
  bool wanted(const Image& image) const;

  std::vector<std::string> classes_;
  std::string img_prefix_;
  bool filter_empty_gt_, eleven_points_;
  int64_t min_size_;
  std::vector<Image> images_;
};

}  // namespace osprey
