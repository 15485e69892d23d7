#pragma once

#include <vector>

#include "core/mask/rle.h"

namespace osprey {

// A closed outline: x, y, x, y, ... in pixels.
using Polygon = std::vector<double>;

// Rasterises exactly as pycocotools does (frPyObjects): edges are walked on a grid of a fifth of a pixel, so
// sub-pixel outlines may vanish. Even-odd within one outline; clipped to h x w. The cost grows with the
// columns that the outline covers, not with its area or its distance from the image.
Rle rasterize(const Polygon& polygon, int64_t h, int64_t w);
// The union of the parts.
Rle rasterize(const std::vector<Polygon>& polygons, int64_t h, int64_t w);
// The box as an outline of four corners.
Rle rasterize_box(const XYWH& box, int64_t h, int64_t w);

// Shoelace formula.
double polygon_area(const Polygon& polygon);

}  // namespace osprey
