#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/data/coco_evaluation.h"
#include "core/data/coco_file.h"
#include "core/data/custom_dataset.h"
#include "core/evaluation/coco_metrics.h"

namespace osprey {

// Images with annotations in COCO's "instances" format. Keys as in mmdetection: ann_file, pipeline, classes,
// data_root, img_prefix, seg_prefix, test_mode, filter_empty_gt; and num_images, which keeps the first N
// images.
//
// In training, images whose shorter side is under 32 pixels are left out and, with filter_empty_gt, those
// without any annotation of the configured classes. As in mmdetection an image stays whose only annotations
// are crowds or invalid: it is trained on with no ground truth.
//
// label i is classes[i], whatever the order of the categories in the file (mmdetection follows the file). The
// semantic map of an image is seg_prefix + its file name with the extension .png.
class CocoDataset final : public CustomDataset {
 public:
  explicit CocoDataset(const ConfigNode& cfg);

  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int group(int64_t index) const override { return image(index).w > image(index).h ? 1 : 0; }
  std::vector<int64_t> labels(int64_t index) const override;
  void check_options(const EvalOptions& options) const override { check_coco_options(options); }
  EvalReport evaluate(const std::vector<DetectionResult>& results, const EvalOptions& options) const override;
  void format_results(const std::vector<DetectionResult>& results, const std::string& prefix) const override;

 private:
  SampleSource source(int64_t index) const override;
  void map_categories(const ConfigNode& cfg);
  void choose_images(const ConfigNode& cfg);
  bool has_annotation_of_classes(const CocoImage& image) const;
  void check_folders(const ConfigNode& cfg) const;
  void report_invalid_annotations() const;
  CocoReference reference() const;
  const CocoImage& image(int64_t index) const { return file_.images[images_[index]]; }

  std::vector<std::string> classes_;
  CocoFile file_;
  std::map<int64_t, int64_t> label_of_category_;
  std::vector<size_t> images_;  // positions in file_.images
  std::string img_prefix_;
  std::string seg_prefix_;
};

}  // namespace osprey
