#pragma once

#include <string>
#include <vector>

#include "core/data/coco_evaluation.h"
#include "core/data/coco_file.h"
#include "core/data/custom_dataset.h"
#include "core/data/shape_scene.h"
#include "core/evaluation/coco_metrics.h"

namespace osprey {

// Textured shapes on textured backgrounds, rendered on the fly: a data set that needs no download and behaves
// as a COCO one, with boxes, masks (polygons, or run lengths of what an overlap leaves), a semantic map and
// COCO metrics. Image i depends on seed and index_offset + i alone.
//
// Keys: num_images; img_scale [w, h], or a list of sizes to draw from; seed (0); index_offset (0), which
// keeps a validation set apart from a training set of the same seed; classes (circle, square, triangle; also
// cross, star); min_shapes (1), max_shapes (4); pipeline; test_mode. Labels of the semantic map: the shapes'
// classes, then the four kinds of background, 255 on edges; so a semantic head has len(classes) + 4 classes.
class ShapesDataset final : public CustomDataset {
 public:
  explicit ShapesDataset(const ConfigNode& cfg);

  int64_t size() const override { return num_images_; }
  const std::vector<std::string>& classes() const override { return options_.classes; }
  int group(int64_t index) const override;
  std::vector<int64_t> labels(int64_t index) const override;
  void check_options(const EvalOptions& options) const override { check_coco_options(options); }
  EvalReport evaluate(const std::vector<DetectionResult>& results, const EvalOptions& options) const override;
  void format_results(const std::vector<DetectionResult>& results, const std::string& prefix) const override;

 private:
  SampleSource source(int64_t index) const override;
  CounterRng rng_of(int64_t index, uint64_t purpose) const;
  ImgScale size_of(int64_t index) const;
  ShapeScene scene(int64_t index) const;
  // The annotations of all images, as COCO would store them.
  CocoFile ground_truth() const;
  CocoReference reference_of(const CocoFile& ground_truth) const;

  int64_t num_images_;
  std::vector<ImgScale> img_scales_;
  int64_t seed_;
  int64_t index_offset_;
  SceneOptions options_;
};

}  // namespace osprey
