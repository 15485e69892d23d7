#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

namespace osprey {

// PASCAL VOC's mean average precision as mmdetection's eval_map computes it, without VOC's +1 in box sizes.
// Boxes are xyxy in pixels of the original image, f32; labels i64 in [0, num_classes).

struct MapDetections {
  Tensor bboxes, scores, labels;  // (k, 4), (k), (k)
};

struct MapAnnotations {
  Tensor bboxes, labels;                // (g, 4), (g)
  Tensor bboxes_ignore, labels_ignore;  // VOC's "difficult" objects: neither demanded nor counted as wrong
};

struct MapOptions {
  int64_t num_classes = 0;
  double iou_thr = 0.5;
  // VOC 2007 takes the mean of the precision at eleven recalls, later years the area under the curve.
  bool eleven_points = false;
  // Ranges of sqrt(area), half-open, evaluated beside each other. Empty: one range with everything.
  std::vector<std::pair<double, double>> scale_ranges;
};

struct ClassAp {
  int64_t num_gts = 0, num_dets = 0;
  double ap = 0;
  std::vector<double> recall, precision;  // after each detection, best first
};

struct MapResult {
  std::vector<double> mean_ap;                // (range), over the classes with ground truth; 0 without any
  std::vector<std::vector<ClassAp>> classes;  // [class][range]
};

// Each detection, best first, is held against the one box that it overlaps most, ignored ones included: right
// when that is free, wrong when it is taken, of no account when it is ignored. Unlike the reference,
// eleven_points is also right with scale_ranges (it divides by 11 once per range there). detections[i] and
// annotations[i] belong to image i.
MapResult eval_map(const std::vector<MapDetections>& detections,
                   const std::vector<MapAnnotations>& annotations, const MapOptions& options);

// The table that mmdetection prints: class, gts, dets, recall, ap, and the mean; one for each range.
std::string map_table(const MapResult& result, const std::vector<std::string>& class_names,
                      const MapOptions& options);

}  // namespace osprey
