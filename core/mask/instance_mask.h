#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/mask/polygon.h"
#include "core/mask/rle.h"
#include "core/tensor/tensor.h"

namespace osprey {

// One instance's mask: polygons (each a flat x, y list in pixels) as COCO stores them, kept until somebody
// needs pixels, or run lengths. Exactly one of the two is used.
struct InstanceMask {
  int64_t h = 0, w = 0;  // of the image
  std::vector<Polygon> polygons;
  Rle rle;
  bool is_polygon() const { return !polygons.empty(); }
};
using InstanceMasks = std::vector<InstanceMask>;

// Geometry, as mmdetection's BitmapMasks / PolygonMasks do it. Polygons are moved, never clipped: the
// rasteriser clips. Run lengths stay run lengths, no pixels are made.
InstanceMask resize(const InstanceMask& mask, int64_t new_h,
                    int64_t new_w);  // run lengths: nearest, as OpenCV
InstanceMask flip_horizontal(const InstanceMask& mask);
InstanceMask flip_vertical(const InstanceMask& mask);
// Grows to the right and below. Requires new_h >= h, new_w >= w.
InstanceMask pad(const InstanceMask& mask, int64_t new_h, int64_t new_w);
// Onto a larger canvas, with the mask's upper left corner at (left, top). Requires that it fits.
InstanceMask expand(const InstanceMask& mask, int64_t new_h, int64_t new_w, int64_t top, int64_t left);
// The window [x1, x2) x [y1, y2), clipped to the image; it keeps one pixel at least.
InstanceMask crop(const InstanceMask& mask, int64_t x1, int64_t y1, int64_t x2, int64_t y2);
InstanceMask from_bitmap(const uint8_t* bitmap, int64_t h, int64_t w);  // row-major, non-zero = inside
InstanceMask from_rle(Rle rle);
InstanceMask from_polygons(std::vector<Polygon> polygons, int64_t h,
                           int64_t w);  // requires one part at least

// Pixels as COCO sees them: polygons are rasterised.
Rle to_rle(const InstanceMask& mask);
// u8 (h, w) of 0 and 1.
Tensor to_bitmap(const InstanceMask& mask);
// Polygons: the sum of the outlines' areas, overlaps counted twice; run lengths: pixels.
double area(const InstanceMask& mask);

// Training targets of a mask head: for each box f32 (p, 4) the mask masks[inds[i]] (inds i64 (p)) cropped and
// resized to (out_h, out_w). Bitmaps: RoIAlign (aligned, adaptive sampling) >= 0.5, an empty target for a box
// without extent; polygons: moved, scaled by out / max(side, 1) and rasterised. u8 (p, out_h, out_w).
Tensor crop_and_resize(const InstanceMasks& masks, const Tensor& bboxes, const Tensor& inds, int64_t out_h,
                       int64_t out_w);

// mmdetection's mask_target for one image: crop_and_resize of the boxes clipped to the (padded) masks' size.
Tensor mask_target(const InstanceMasks& masks, const Tensor& bboxes, const Tensor& inds, int64_t out_h,
                   int64_t out_w);

// Pastes predicted masks f32 (k, s, s) in [0, 1] into the image at boxes f32 (k, 4): grid_sample with
// align_corners=false, then >= threshold. Run lengths, so that a thousand large masks stay small.
std::vector<Rle> paste_masks(const Tensor& masks, const Tensor& bboxes, int64_t img_h, int64_t img_w,
                             double threshold);

}  // namespace osprey
