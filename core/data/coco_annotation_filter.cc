#include "core/data/coco_annotation_filter.h"

#include <algorithm>
#include <cmath>

#include "core/base/strings.h"

namespace osprey {

std::string invalid_reason(const CocoAnnotation& annotation, const CocoImage& image) {
  const auto [x, y, w, h] = annotation.bbox;
  const auto box = [&] { return str_cat("bbox [", join(annotation.bbox), "] (x, y, width, height)"); };
  for (const double value : annotation.bbox) {
    if (!std::isfinite(value)) return box() + " is not finite";
  }
  if (w <= 0 || h <= 0) return box() + " has no area";
  if (w < 1 || h < 1) return box() + " is under a pixel";
  const double overlap_w = std::min(x + w, static_cast<double>(image.w)) - std::max(x, 0.0);
  const double overlap_h = std::min(y + h, static_cast<double>(image.h)) - std::max(y, 0.0);
  if (overlap_w <= 0 || overlap_h <= 0) {
    return str_cat(box(), " lies outside of the image of ", image.w, "x", image.h, " pixels");
  }
  if (!(annotation.area > 0)) return str_cat("area ", annotation.area, " is not positive");
  return "";
}

}  // namespace osprey
