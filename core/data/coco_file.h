#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/mask/instance_mask.h"

namespace osprey {

struct CocoCategory {
  int64_t id = 0;
  std::string name;
};

struct CocoImage {
  int64_t id = 0;
  std::string file_name;
  int64_t h = 0, w = 0;
  std::vector<size_t> annotations;  // positions in CocoFile::annotations, in file order
};

struct CocoAnnotation {
  int64_t id = 0, image_id = 0, category_id = 0;
  std::array<double, 4> bbox{};  // x, y, w, h; NaN where the file has no number
  double area = 0;               // as the file says; w * h when it says nothing
  bool iscrowd = false, ignore = false;
  // h is 0 when there is no usable segmentation. Polygons of less than three points, or with half a point,
  // are left out, as in mmdetection.
  InstanceMask segmentation;
};

// An annotation file in COCO's "instances" format.
struct CocoFile {
  std::string path;
  std::vector<CocoCategory> categories;  // in file order
  std::vector<CocoImage> images;         // in file order; an id that is listed twice counts once
  std::vector<CocoAnnotation> annotations;
};

// Reads an annotation file. Accepts what Python's json module accepts (NaN, Infinity). Warns of images listed
// twice and of annotations without their image. Throws UserError: "FILE:LINE:COLUMN: ..." for broken JSON,
// "FILE: annotations[3].bbox: ..." for a value of the wrong kind.
CocoFile load_coco_file(const std::string& path);

}  // namespace osprey
