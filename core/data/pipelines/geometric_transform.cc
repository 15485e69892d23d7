#include "core/data/pipelines/geometric_transform.h"

#include <algorithm>
#include <opencv2/imgproc.hpp>

#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

cv::Scalar read_fill(const ConfigNode& cfg) {
  const ConfigNode node = cfg.find("img_fill_val");
  if (!node.is_list()) return cv::Scalar::all(cfg.get("img_fill_val", 128.0, between(0, 255)));
  const auto values = node.as<std::vector<double>>(between(0, 255));
  if (values.size() != 3)
    node.fail(str_cat("must be a number or three, one per channel, got ", values.size()));
  return {values[0], values[1], values[2]};
}

cv::Mat warped(const cv::Mat& map, const cv::Matx23d& matrix, int interpolation, const cv::Scalar& fill) {
  cv::Mat out;
  cv::warpAffine(map, out, matrix, map.size(), interpolation, cv::BORDER_CONSTANT, fill);
  return out;
}

cv::Point2d moved(double x, double y, const cv::Matx23d& m) {
  return {m(0, 0) * x + m(0, 1) * y + m(0, 2), m(1, 0) * x + m(1, 1) * y + m(1, 2)};
}

// Outlines stay outlines, clipped to the image; run lengths go through pixels.
InstanceMask moved(const InstanceMask& mask, const cv::Matx23d& matrix, int interpolation) {
  if (!mask.is_polygon()) {
    const Tensor bitmap = to_bitmap(mask);
    const cv::Mat pixels(static_cast<int>(mask.h), static_cast<int>(mask.w), CV_8U,
                         const_cast<uint8_t*>(bitmap.data<uint8_t>()));
    const cv::Mat out = warped(pixels, matrix, interpolation, cv::Scalar::all(0));
    return from_bitmap(out.data, mask.h, mask.w);
  }
  std::vector<Polygon> outlines = mask.polygons;
  for (Polygon& outline : outlines) {
    for (size_t i = 0; i + 1 < outline.size(); i += 2) {
      const cv::Point2d point = moved(outline[i], outline[i + 1], matrix);
      outline[i] = std::clamp(point.x, 0.0, static_cast<double>(mask.w));
      outline[i + 1] = std::clamp(point.y, 0.0, static_cast<double>(mask.h));
    }
  }
  return from_polygons(std::move(outlines), mask.h, mask.w);
}

BBox moved(const BBox& box, const cv::Matx23d& matrix, const cv::Size& image) {
  double x1 = image.width, y1 = image.height, x2 = 0, y2 = 0;
  for (const int x : {0, 2}) {
    for (const int y : {1, 3}) {
      const cv::Point2d corner = moved(box[x], box[y], matrix);
      x1 = std::min(x1, corner.x);
      x2 = std::max(x2, corner.x);
      y1 = std::min(y1, corner.y);
      y2 = std::max(y2, corner.y);
    }
  }
  const auto clipped = [](double v, int side) { return static_cast<float>(std::clamp<double>(v, 0, side)); };
  return {clipped(x1, image.width), clipped(y1, image.height), clipped(x2, image.width),
          clipped(y2, image.height)};
}

}  // namespace

GeometricTransform::GeometricTransform(const ConfigNode& cfg)
    : interpolation_(cv::INTER_LINEAR),
      level_(cfg.get<double>("level", between(0, 10)) / 10),
      prob_(cfg.get("prob", 0.5, between(0, 1))),
      random_negative_prob_(cfg.get("random_negative_prob", 0.5, between(0, 1))),
      img_fill_val_(read_fill(cfg)),
      seg_ignore_label_(cfg.get("seg_ignore_label", 255.0, between(0, 255))) {}

bool GeometricTransform::apply(Sample& sample, CounterRng& rng) const {
  if (rng.uniform() >= prob_) return true;
  const double sign = rng.uniform() < random_negative_prob_ ? -1 : 1;
  const cv::Matx23d matrix = forward(sample.img.size(), sign);
  sample.img = warped(sample.img, matrix, interpolation_, img_fill_val_);
  for (InstanceMask& mask : sample.gt_masks) mask = moved(mask, matrix, interpolation_);
  if (!sample.gt_semantic_seg.empty())
    sample.gt_semantic_seg =
        warped(sample.gt_semantic_seg, matrix, cv::INTER_NEAREST, cv::Scalar::all(seg_ignore_label_));
  move_boxes(sample, matrix);
  return true;
}

void GeometricTransform::move_boxes(Sample& sample, const cv::Matx23d& matrix) const {
  const auto large = [&](const BBox& box) {
    return box[2] - box[0] > min_size_ && box[3] - box[1] > min_size_;
  };
  std::vector<bool> keep;
  for (BBox& box : sample.gt_bboxes) {
    box = moved(box, matrix, sample.img.size());
    keep.push_back(large(box));
  }
  keep_instances(sample, keep);
  for (BBox& box : sample.gt_bboxes_ignore) box = moved(box, matrix, sample.img.size());
  std::erase_if(sample.gt_bboxes_ignore, [&](const BBox& box) { return !large(box); });
}

}  // namespace osprey
