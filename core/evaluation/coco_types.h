#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/mask/rle.h"

// The plain data of a COCO evaluation. Boxes are x, y, w, h in pixels of the original image.
namespace osprey {

struct CocoGroundTruth {
  int64_t id = 0;
  int64_t image_id = 0;
  int64_t category_id = 0;
  XYWH bbox{};
  double area = 0;  // the annotation's `area`, which for COCO is the mask's
  bool iscrowd = false;
  const Rle* segmentation = nullptr;  // for segm; not owned, outlives the evaluation
};

struct CocoDetection {
  int64_t image_id = 0;
  int64_t category_id = 0;
  XYWH bbox{};
  double score = 0;
  double area = 0;  // decides small, medium, large: bbox w * h, or the mask's pixels when there is no box
  const Rle* segmentation = nullptr;
};

// The order of detections: NaN comes last.
inline bool scores_higher(double a, double b) { return a > b || (a == a && b != b); }

// Areas in [low, high] count.
struct AreaRange {
  std::string name;
  double low, high;
};

enum class IouType { kBbox, kSegm };

// numpy's linspace(start, stop, count), bit for bit: the values are compared for equality.
inline std::vector<double> linspace(double start, double stop, int count) {
  std::vector<double> values;
  const double step = count > 1 ? (stop - start) / (count - 1) : 0;
  for (int i = 0; i < count; ++i) values.push_back(start + i * step);
  if (count > 1) values.back() = stop;
  return values;
}

struct CocoEvalParams {
  IouType iou_type = IouType::kBbox;
  std::vector<int64_t> image_ids;     // those evaluated, ascending
  std::vector<int64_t> category_ids;  // those evaluated, ascending; others are left out
  std::vector<double> iou_thrs = linspace(0.5, 0.95, 10);
  std::vector<double> rec_thrs = linspace(0.0, 1.0, 101);
  // Detections per (image, category), ascending. Three of them give the twelve stats.
  std::vector<int64_t> max_dets = {1, 10, 100};
  std::vector<AreaRange> area_ranges = {
      {"all", 0, 1e10}, {"small", 0, 32 * 32}, {"medium", 32 * 32, 96 * 96}, {"large", 96 * 96, 1e10}};
  bool use_cats = true;  // false: all categories are one, as for proposals
};

}  // namespace osprey
