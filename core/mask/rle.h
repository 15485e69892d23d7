#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

// COCO's run-length masks, with the results of pycocotools' mask API.
namespace osprey {

// Run lengths of a binary mask in column-major order, zeros first. Canonical: no run but the first is empty.
// No counts at all stand for an empty mask.
struct Rle {
  int64_t h = 0, w = 0;
  std::vector<uint32_t> counts;
  bool operator==(const Rle&) const = default;
};

// x, y, width, height in pixels.
using XYWH = std::array<double, 4>;

Rle encode(const uint8_t* bitmap, int64_t h, int64_t w);  // row-major, non-zero = inside
Tensor decode(const Rle& rle);                            // u8 (h, w) of 0 and 1

// COCO's compressed text: differences to the run before last, 5 bits per character.
std::string to_string(const Rle& rle);
// Throws UserError when the text is malformed or does not describe h * w pixels.
Rle rle_from_string(const std::string& text, int64_t h, int64_t w);
// From the uncompressed counts of an annotation file. Throws UserError when they do not add up to h * w.
Rle rle_from_counts(const std::vector<int64_t>& counts, int64_t h, int64_t w);

int64_t area(const Rle& rle);
XYWH bounding_box(const Rle& rle);  // zeros for an empty mask

// Union, or intersection, of masks of one size. Requires one mask at least.
Rle merge(const std::vector<Rle>& rles, bool intersect = false);

// Intersection over union; over the detection's own area when the ground truth is a crowd. 0 without overlap.
double iou(const XYWH& dt, const XYWH& gt, bool iscrowd);
// Row-major (dt, gt). Requires masks of one size. iscrowd has one entry per gt.
std::vector<double> iou(const std::vector<const Rle*>& dt, const std::vector<const Rle*>& gt,
                        const std::vector<uint8_t>& iscrowd);

}  // namespace osprey
