#pragma once

#include <cstdint>
#include <limits>

#include "core/ops/rows.h"
#include "core/tensor/half.h"

// Anchors and their targets, anchor by anchor or cell by cell.
namespace osprey {

// The anchors of one cell of a map: base anchors (count, 4) moved there.
struct CellAnchors {
  static constexpr char kName[] = "grid_anchors";
  const float* base;
  int64_t count, map_w, stride_w, stride_h;
  float* out;
  OSPREY_HD void operator()(int64_t cell) const {
    const float x = static_cast<float>(cell % map_w * stride_w),
                y = static_cast<float>(cell / map_w * stride_h);
    float* anchor = out + cell * count * 4;
    for (int64_t a = 0; a < count; ++a, anchor += 4) {
      anchor[0] = base[4 * a + 0] + x;
      anchor[1] = base[4 * a + 1] + y;
      anchor[2] = base[4 * a + 2] + x;
      anchor[3] = base[4 * a + 3] + y;
    }
  }
};

struct CellValid {
  static constexpr char kName[] = "valid_flags";
  int64_t count, map_w, valid_w, valid_h;
  uint8_t* flags;
  OSPREY_HD void operator()(int64_t cell) const {
    const bool valid = cell % map_w < valid_w && cell / map_w < valid_h;
    for (int64_t a = 0; a < count; ++a) flags[cell * count + a] = valid;
  }
};

struct AnchorInside {
  static constexpr char kName[] = "anchor_inside_flags";
  const float* anchors;
  const uint8_t* valid;
  float low, right, bottom;
  uint8_t* flags;
  OSPREY_HD void operator()(int64_t i) const {
    const float* box = anchors + 4 * i;
    const bool inside = box[0] >= low && box[1] >= low && box[2] < right && box[3] < bottom;
    flags[i] = valid[i] && inside;
  }
};

// NaN in place of anchors that take no part: assigners give those to nobody.
struct HideAnchor {
  static constexpr char kName[] = "anchor targets";
  const float* anchors;
  const uint8_t* inside;
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int k = 0; k < 4; ++k) out[4 * i + k] = inside[i] ? anchors[4 * i + k] : nan;
  }
};

// Nor to the background, where there is no ground truth at all.
struct IgnoreHidden {
  static constexpr char kName[] = "anchor targets";
  const uint8_t* inside;
  int64_t* gt_inds;
  OSPREY_HD void operator()(int64_t i) const {
    if (!inside[i]) gt_inds[i] = -1;
  }
};

constexpr int kMaxAnchorLevels = 16;

// Anchor i of an image, counted over all levels, in arrays that hold level after level, and within a level
// image after image.
struct AnchorPlace {
  int64_t begins[kMaxAnchorLevels + 1];  // of the levels; the last is the number of anchors
  int64_t images, image;
  OSPREY_HD int64_t operator()(int64_t i) const {
    int level = 0;
    while (begins[level + 1] <= i) ++level;
    const int64_t begin = begins[level], count = begins[level + 1] - begin;
    return images * begin + image * count + i - begin;
  }
};

struct SetPositive {
  static constexpr char kName[] = "anchor targets";
  AnchorPlace place;
  const int64_t* anchors;    // (p)
  const int64_t* gt_inds;    // (p)
  const int64_t* gt_labels;  // null: label 0
  const float* targets;      // (p, 4)
  float weight;
  int64_t* labels;
  float *label_weights, *bbox_targets, *bbox_weights;
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t to = place(anchors[i]);
    labels[to] = gt_labels == nullptr ? 0 : gt_labels[gt_inds[i]];
    label_weights[to] = weight;
    for (int k = 0; k < 4; ++k) {
      bbox_targets[4 * to + k] = targets[4 * i + k];
      bbox_weights[4 * to + k] = 1;
    }
  }
};

struct SetNegative {
  static constexpr char kName[] = "anchor targets";
  AnchorPlace place;
  const int64_t* anchors;
  float* label_weights;
  OSPREY_HD void operator()(int64_t i) const { label_weights[place(anchors[i])] = 1; }
};

}  // namespace osprey
