#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/mask/instance_mask.h"
#include "core/mask/rle_spans.h"

// Mask targets. A bitmap's target is RoIAlign of the whole image's mask (aligned=True, sampling_ratio 0), in
// the operation order of core/ops/roi_align, so that its f32 rounding is the reference's; but only the pixels
// under the box are ever decoded.
namespace osprey {
namespace {

constexpr int64_t kGrain = 8;  // boxes per thread at least

// One sampling coordinate along one axis: pixels low and high with weights 1 - fraction and fraction.
struct Tap {
  int64_t low, high;
  float low_weight, high_weight;
};

// The taps of each output bin along one axis, those outside the image left out (they count as 0).
struct Axis {
  std::vector<std::vector<Tap>> bins;
  int64_t grid = 0;              // samples per bin, left-out ones included
  int64_t first = 0, last = -1;  // pixels that any tap touches
};

Tap make_tap(float position, int64_t size) {
  position = std::max(position, 0.0f);
  const auto low = static_cast<int64_t>(position);
  if (low >= size - 1) return {size - 1, size - 1, 1.0f, 0.0f};
  const float fraction = position - static_cast<float>(low);
  return {low, low + 1, 1.0f - fraction, fraction};
}

// He et al., "Mask R-CNN", section 3 (RoIAlign), with mmcv's aligned=True shift of half a pixel.
Axis sample_axis(float box_begin, float box_end, int64_t size, int64_t bins) {
  const float begin = box_begin - 0.5f, extent = (box_end - 0.5f) - begin;
  const float bin_size = extent / static_cast<float>(bins);
  Axis axis;
  axis.bins.resize(static_cast<size_t>(bins));
  axis.first = size;
  if (!(extent > 0) || !std::isfinite(extent)) return axis;
  axis.grid = static_cast<int64_t>(std::ceil(bin_size));
  for (int64_t bin = 0; bin < bins; ++bin) {
    for (int64_t i = 0; i < axis.grid; ++i) {
      const float position = begin + static_cast<float>(bin) * bin_size +
                             (static_cast<float>(i) + 0.5f) * bin_size / static_cast<float>(axis.grid);
      if (position < -1.0f || position > static_cast<float>(size)) continue;
      const Tap tap = make_tap(position, size);
      axis.first = std::min(axis.first, tap.low);
      axis.last = std::max(axis.last, tap.high);
      axis.bins[bin].push_back(tap);
    }
  }
  return axis;
}

// The decoded pixels [x0, x0 + w) x [y0, y0 + h) of a mask.
class Patch {
 public:
  Patch(const ColumnSpans& columns, const Axis& x_axis, const Axis& y_axis)
      : x0_(x_axis.first), y0_(y_axis.first), w_(x_axis.last - x_axis.first + 1) {
    const int64_t h = y_axis.last - y_axis.first + 1;
    pixels_.assign(static_cast<size_t>(w_ * h), 0.0f);
    column_sums_.assign(static_cast<size_t>(w_ * (h + 1)), 0);
    mark_span_ends(columns, h);
    // Row by row from the one above: the mask from its spans' ends, and the sums; both loops vectorise.
    for (int64_t y = 0; y < h; ++y) {
      float* row = pixels_.data() + y * w_;
      const int32_t* above = column_sums_.data() + y * w_;
      for (int64_t x = 0; y > 0 && x < w_; ++x) row[x] += row[x - w_];
      for (int64_t x = 0; x < w_; ++x)
        column_sums_[(y + 1) * w_ + x] = above[x] + static_cast<int32_t>(row[x]);
    }
  }

  // Indexed by image column.
  const float* row(int64_t y) const { return pixels_.data() + (y - y0_) * w_ - x0_; }

  // For the image rows that the taps read: entry x - x0 counts their pixels inside the mask left of column x.
  std::vector<int64_t> ones_before(const std::vector<Tap>& y_taps) const {
    const int32_t* top = column_sums_.data() + (y_taps.front().low - y0_) * w_;
    const int32_t* bottom = column_sums_.data() + (y_taps.back().high + 1 - y0_) * w_;
    std::vector<int64_t> before(static_cast<size_t>(w_) + 1, 0);
    for (int64_t x = 0; x < w_; ++x) before[x + 1] = before[x] + bottom[x] - top[x];
    return before;
  }
  int64_t x0() const { return x0_; }

 private:
  // +1 on the first row of each span, -1 behind its last.
  void mark_span_ends(const ColumnSpans& columns, int64_t h) {
    for (int64_t x = 0; x < w_; ++x) {
      columns.for_each(x0_ + x, [&](Span span) {
        const int64_t begin = std::max(span.y0 - y0_, int64_t{0}), end = span.y1 - y0_;
        if (begin >= h || end <= begin) return;
        pixels_[begin * w_ + x] += 1.0f;
        if (end < h) pixels_[end * w_ + x] -= 1.0f;
      });
    }
  }

  int64_t x0_, y0_, w_;
  std::vector<float> pixels_;         // row-major
  std::vector<int32_t> column_sums_;  // (h + 1, w): pixels inside the mask above each
};

float average(const Patch& patch, const std::vector<Tap>& y_taps, const std::vector<Tap>& x_taps,
              float count) {
  float sum = 0;
  for (const Tap& y : y_taps) {
    const float* low = patch.row(y.low);
    const float* high = patch.row(y.high);
    for (const Tap& x : x_taps) {
      sum += y.low_weight * x.low_weight * low[x.low] + y.low_weight * x.high_weight * low[x.high] +
             y.high_weight * x.low_weight * high[x.low] + y.high_weight * x.high_weight * high[x.high];
    }
  }
  return sum / count;
}

// Writes one row of bins. Most bins see only zeros or only ones, and need no arithmetic.
void target_row(const Patch& patch, const Axis& x_axis, const Axis& y_axis, const std::vector<Tap>& y_taps,
                uint8_t* target) {
  const std::vector<int64_t> before = patch.ones_before(y_taps);
  const int64_t rows = y_taps.back().high - y_taps.front().low + 1;
  const int64_t samples = x_axis.grid * y_axis.grid;
  for (const std::vector<Tap>& x_taps : x_axis.bins) {
    uint8_t& bin = *target++;
    if (x_taps.empty()) continue;
    const int64_t left = x_taps.front().low - patch.x0(), right = x_taps.back().high + 1 - patch.x0();
    const int64_t ones = before[right] - before[left];
    if (ones == 0) continue;
    const bool none_left_out = static_cast<int64_t>(y_taps.size() * x_taps.size()) == samples;
    bin = (ones == rows * (right - left) && none_left_out) ||
          average(patch, y_taps, x_taps, static_cast<float>(samples)) >= 0.5f;
  }
}

// Writes the (out_h, out_w) target of one box.
void bitmap_target(const ColumnSpans& columns, int64_t h, int64_t w, const float* box, int64_t out_h,
                   int64_t out_w, uint8_t* target) {
  std::fill(target, target + out_h * out_w, uint8_t{0});
  const Axis x_axis = sample_axis(box[0], box[2], w, out_w), y_axis = sample_axis(box[1], box[3], h, out_h);
  if (x_axis.first > x_axis.last || y_axis.first > y_axis.last) return;  // no sample hits the image
  const Patch patch(columns, x_axis, y_axis);
  for (int64_t y = 0; y < out_h; ++y) {
    const std::vector<Tap>& y_taps = y_axis.bins[y];
    if (!y_taps.empty()) target_row(patch, x_axis, y_axis, y_taps, target + y * out_w);
  }
}

// mmdetection's PolygonMasks.crop_and_resize: sides in f32, scales and corners in f64.
void polygon_target(const InstanceMask& mask, const float* box, int64_t out_h, int64_t out_w,
                    uint8_t* target) {
  const double x_scale = static_cast<double>(out_w) / std::max(box[2] - box[0], 1.0f);
  const double y_scale = static_cast<double>(out_h) / std::max(box[3] - box[1], 1.0f);
  std::vector<Polygon> moved = mask.polygons;
  for (Polygon& polygon : moved) {
    for (size_t i = 0; i + 1 < polygon.size(); i += 2) {
      polygon[i] = (polygon[i] - box[0]) * x_scale;
      polygon[i + 1] = (polygon[i + 1] - box[1]) * y_scale;
    }
  }
  const Tensor bitmap = decode(rasterize(moved, out_h, out_w));
  std::copy_n(bitmap.data<uint8_t>(), bitmap.numel(), target);
}

// Column spans of every bitmap mask that a box asks for, made once.
std::map<int64_t, ColumnSpans> index_bitmaps(const InstanceMasks& masks, const Tensor& inds) {
  std::map<int64_t, ColumnSpans> spans;
  for (int64_t i = 0; i < inds.numel(); ++i) {
    const int64_t index = inds.data<int64_t>()[i];
    OSPREY_REQUIRE(index >= 0 && index < static_cast<int64_t>(masks.size()), "crop_and_resize: index ", index,
                   " of ", masks.size(), " masks");
    if (!masks[index].is_polygon() && spans.count(index) == 0)
      spans.emplace(index, ColumnSpans(masks[index].rle));
  }
  return spans;
}

}  // namespace

Tensor crop_and_resize(const InstanceMasks& masks, const Tensor& bboxes, const Tensor& inds, int64_t out_h,
                       int64_t out_w) {
  const Tensor boxes = bboxes.to(kCPU), indices = inds.to(kCPU);
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) == 4 && indices.shape() == Shape{boxes.dim(0)},
                 "crop_and_resize: bboxes must be (p, 4) and inds (p), got ", describe(boxes), " and ",
                 describe(indices));
  Tensor targets({boxes.dim(0), out_h, out_w}, DType::kU8);
  if (targets.empty()) return targets;
  const std::map<int64_t, ColumnSpans> spans = index_bitmaps(masks, indices);
  const float* box = boxes.data<float>();
  uint8_t* target = targets.mutable_data<uint8_t>();
  parallel_ranges(boxes.dim(0), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = indices.data<int64_t>()[i];
      const InstanceMask& mask = masks[index];
      uint8_t* out = target + i * out_h * out_w;
      if (mask.is_polygon()) {
        polygon_target(mask, box + 4 * i, out_h, out_w, out);
      } else {
        bitmap_target(spans.at(index), mask.h, mask.w, box + 4 * i, out_h, out_w, out);
      }
    }
  });
  return targets;
}

Tensor mask_target(const InstanceMasks& masks, const Tensor& bboxes, const Tensor& inds, int64_t out_h,
                   int64_t out_w) {
  if (masks.empty() || bboxes.empty()) return crop_and_resize(masks, bboxes, inds, out_h, out_w);
  Tensor clipped = bboxes.to(kCPU).clone();
  float* box = clipped.mutable_data<float>();
  const auto w = static_cast<float>(masks.front().w), h = static_cast<float>(masks.front().h);
  for (int64_t i = 0; i < clipped.numel(); ++i) box[i] = std::clamp(box[i], 0.0f, i % 2 == 0 ? w : h);
  return crop_and_resize(masks, clipped, inds, out_h, out_w);
}

}  // namespace osprey
