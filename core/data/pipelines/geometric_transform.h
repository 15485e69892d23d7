#pragma once

#include <opencv2/core/mat.hpp>
#include <opencv2/core/matx.hpp>

#include "core/data/pipelines/transform.h"

namespace osprey {

// What Shear, Rotate and Translate share: an affine map of image, masks, semantic map and boxes, at an image
// of the same size (Cubuk et al., "AutoAugment", 2019). A box becomes the bounding box of its corners,
// clipped; what is not larger than min_size then goes, with label and mask. The semantic map is read at the
// nearest pixel: labels cannot be averaged. Keys: level (0 to 10, a share of the largest effect), prob (0.5),
// random_negative_prob (0.5: of the other direction), img_fill_val (128, or three values), seg_ignore_label
// (255).
class GeometricTransform : public Transform {
 public:
  bool apply(Sample& sample, CounterRng& rng) const override;

 protected:
  explicit GeometricTransform(const ConfigNode& cfg);
  // Where a point of the image goes. `sign`: 1, or -1 for the other direction.
  virtual cv::Matx23d forward(const cv::Size& image, double sign) const = 0;
  double level() const { return level_; }  // in [0, 1]

  int interpolation_;    // cv::INTER_LINEAR unless a derived class says otherwise
  double min_size_ = 0;  // of a box, in pixels

 private:
  void move_boxes(Sample& sample, const cv::Matx23d& matrix) const;

  double level_, prob_, random_negative_prob_;
  cv::Scalar img_fill_val_;
  double seg_ignore_label_;
};

}  // namespace osprey
