#include "core/data/coco_evaluation.h"

#include <algorithm>
#include <deque>

#include "core/base/error.h"
#include "core/evaluation/coco_metrics.h"

namespace osprey {
namespace {

bool has(const std::vector<std::string>& metrics, const std::string& metric) {
  return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

// The detections of all images, in order. Their masks stay with `results`.
std::vector<CocoDetection> detections_of(const CocoReference& reference,
                                         const std::vector<DetectionResult>& results) {
  OSPREY_REQUIRE(results.size() == reference.images.size(), "evaluate: ", results.size(), " results for ",
                 reference.images.size(), " images");
  std::vector<CocoDetection> detections;
  for (size_t i = 0; i < results.size(); ++i) {
    const DetectionResult& result = results[i];
    const std::vector<double> boxes = result.bboxes.to_doubles(), scores = result.scores.to_doubles();
    const auto labels = result.labels.to_vector<int64_t>();
    for (size_t k = 0; k < labels.size(); ++k) {
      const int64_t category = reference.category_of_label.at(labels[k]);
      if (category < 0) continue;
      CocoDetection detection;
      detection.image_id = reference.file->images[reference.images[i]].id;
      detection.category_id = category;
      const double* box = &boxes[4 * k];
      detection.bbox = {box[0], box[1], box[2] - box[0], box[3] - box[1]};
      detection.score = scores[k];
      // mmdetection 2.11 writes the box into its mask results too, so that its area decides the size.
      detection.area = detection.bbox[2] * detection.bbox[3];
      if (result.has_masks) detection.segmentation = &result.masks[k];
      detections.push_back(detection);
    }
  }
  return detections;
}

// Ground truth with the run lengths that it points to.
struct GroundTruth {
  CocoReferenceData data;
  std::deque<Rle> masks;
};

void add_annotation(const CocoFile& file, const CocoAnnotation& annotation, bool with_masks,
                    GroundTruth& gt) {
  CocoGroundTruth out;
  out.id = annotation.id;
  out.image_id = annotation.image_id;
  out.category_id = annotation.category_id;
  out.bbox = annotation.bbox;
  out.area = annotation.area;
  out.iscrowd = annotation.iscrowd;
  if (with_masks) {
    if (annotation.segmentation.h == 0) {
      throw UserError(str_cat(file.path, ": annotation ", annotation.id,
                              " has no usable segmentation, but the metric segm needs one"));
    }
    gt.masks.push_back(to_rle(annotation.segmentation));
    out.segmentation = &gt.masks.back();
  }
  gt.data.annotations.push_back(out);
}

void fill_ground_truth(const CocoReference& reference, bool with_masks, GroundTruth& gt) {
  for (size_t label = 0; label < reference.classes.size(); ++label) {
    if (reference.category_of_label[label] < 0) continue;
    gt.data.category_ids.push_back(reference.category_of_label[label]);
    gt.data.category_names.push_back(reference.classes[label]);
  }
  for (const size_t i : reference.images) {
    const CocoImage& image = reference.file->images[i];
    gt.data.image_ids.push_back(image.id);
    for (const size_t a : image.annotations) {
      add_annotation(*reference.file, reference.file->annotations[a], with_masks, gt);
    }
  }
}

}  // namespace

EvalReport evaluate_coco(const CocoReference& reference, const std::vector<DetectionResult>& results,
                         const EvalOptions& options) {
  if (!options.jsonfile_prefix.empty()) write_coco_results(reference, results, options.jsonfile_prefix);
  GroundTruth gt;
  fill_ground_truth(reference, has(options.metrics, "segm"), gt);
  return coco_metrics(gt.data, detections_of(reference, results), options);
}

void write_coco_results(const CocoReference& reference, const std::vector<DetectionResult>& results,
                        const std::string& prefix) {
  const std::vector<CocoDetection> detections = detections_of(reference, results);
  write_coco_json(prefix + ".bbox.json", detections, /*with_masks=*/false);
  const bool with_masks =
      std::any_of(results.begin(), results.end(), [](const auto& r) { return r.has_masks; });
  if (with_masks) write_coco_json(prefix + ".segm.json", detections, /*with_masks=*/true);
}

}  // namespace osprey
