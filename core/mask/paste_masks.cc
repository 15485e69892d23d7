#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/mask/instance_mask.h"
#include "core/mask/rle_spans.h"

// mmdetection's _do_paste_mask on the CPU (skip_empty, one mask at a time): F.grid_sample with bilinear
// interpolation, zero padding and align_corners=False at the pixel centres of the box and one pixel around
// it. The sampling grid is the product of an x and a y axis, so each image column is interpolated from two
// mask columns once and then walked downwards, straight into run lengths.
namespace osprey {
namespace {

constexpr int64_t kGrain = 2;  // masks per thread at least

// Where one image column or row reads the mask: low * low_weight + (low + 1) * high_weight. `low` indexes an
// axis with one zero before and one after the mask's own entries, which is grid_sample's padding.
struct Tap {
  int64_t low;
  float low_weight, high_weight;
};

struct Axis {
  int64_t first;  // pixel of taps[0]
  std::vector<Tap> taps;
};

Tap make_tap(float pixel_centre, float box_begin, float box_end, int64_t mask_size) {
  float normalised = (pixel_centre - box_begin) / (box_end - box_begin) * 2.0f - 1.0f;
  if (std::isinf(normalised)) normalised = 0.0f;  // a box without extent shows the mask's middle
  const float position = ((normalised + 1.0f) * static_cast<float>(mask_size) - 1.0f) / 2.0f;
  const float floor = std::floor(position);
  if (!(floor >= -1.0f && floor < static_cast<float>(mask_size))) return {0, 0.0f, 0.0f};  // padding, or NaN
  const float fraction = position - floor;
  return {static_cast<int64_t>(floor) + 1, 1.0f - fraction, fraction};
}

Axis make_axis(float box_begin, float box_end, int64_t image_size, int64_t mask_size) {
  const auto size = static_cast<float>(image_size);
  const float begin = std::clamp(std::floor(box_begin) - 1.0f, 0.0f, size);
  const float end = std::clamp(std::ceil(box_end) + 1.0f, 0.0f, size);
  Axis axis{0, {}};
  if (!(begin < end)) return axis;
  axis.first = static_cast<int64_t>(begin);
  for (auto i = axis.first; i < static_cast<int64_t>(end); ++i) {
    axis.taps.push_back(make_tap(static_cast<float>(i) + 0.5f, box_begin, box_end, mask_size));
  }
  return axis;
}

// Appends the runs of column x: rows whose interpolated value reaches the threshold.
void paste_column(const float* column, const Axis& y_axis, int64_t x, float threshold, RleBuilder& builder) {
  int64_t begin = -1;
  const auto count = static_cast<int64_t>(y_axis.taps.size());
  for (int64_t i = 0; i < count; ++i) {
    const Tap& tap = y_axis.taps[i];
    const bool inside = column[tap.low] * tap.low_weight + column[tap.low + 1] * tap.high_weight >= threshold;
    if (inside && begin < 0) begin = i;
    if (!inside && begin >= 0) {
      builder.add_span(x, {y_axis.first + begin, y_axis.first + i});
      begin = -1;
    }
  }
  if (begin >= 0) builder.add_span(x, {y_axis.first + begin, y_axis.first + count});
}

Rle paste_one(const float* mask, int64_t mask_h, int64_t mask_w, const float* box, int64_t img_h,
              int64_t img_w, float threshold) {
  const Axis x_axis = make_axis(box[0], box[2], img_w, mask_w);
  const Axis y_axis = make_axis(box[1], box[3], img_h, mask_h);
  // Column-major with a border of zeros on all sides.
  const int64_t stride = mask_h + 2;
  std::vector<float> padded(static_cast<size_t>(stride * (mask_w + 2)), 0.0f);
  for (int64_t y = 0; y < mask_h; ++y) {
    for (int64_t x = 0; x < mask_w; ++x) padded[(x + 1) * stride + y + 1] = mask[y * mask_w + x];
  }
  std::vector<float> column(static_cast<size_t>(stride));
  RleBuilder builder(img_h, img_w);
  for (size_t i = 0; i < x_axis.taps.size(); ++i) {
    const Tap& tap = x_axis.taps[i];
    const float* low = padded.data() + tap.low * stride;
    for (int64_t y = 0; y < stride; ++y)
      column[y] = low[y] * tap.low_weight + low[y + stride] * tap.high_weight;
    paste_column(column.data(), y_axis, x_axis.first + static_cast<int64_t>(i), threshold, builder);
  }
  return builder.finish();
}

}  // namespace

std::vector<Rle> paste_masks(const Tensor& masks, const Tensor& bboxes, int64_t img_h, int64_t img_w,
                             double threshold) {
  const Tensor probabilities = masks.to(kCPU).to(DType::kF32), boxes = bboxes.to(kCPU).to(DType::kF32);
  OSPREY_REQUIRE(probabilities.rank() == 3 && boxes.shape() == (Shape{probabilities.dim(0), 4}),
                 "paste_masks: masks must be (k, h, w) and bboxes (k, 4), got ", describe(masks), " and ",
                 describe(bboxes));
  std::vector<Rle> pasted(static_cast<size_t>(probabilities.dim(0)));
  if (pasted.empty()) return pasted;
  const int64_t mask_h = probabilities.dim(1), mask_w = probabilities.dim(2);
  const float* mask = probabilities.data<float>();
  const float* box = boxes.data<float>();
  parallel_ranges(probabilities.dim(0), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      pasted[k] = paste_one(mask + k * mask_h * mask_w, mask_h, mask_w, box + 4 * k, img_h, img_w,
                            static_cast<float>(threshold));
    }
  });
  return pasted;
}

}  // namespace osprey
