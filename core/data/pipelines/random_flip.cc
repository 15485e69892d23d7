#include <numeric>
#include <opencv2/core.hpp>

#include "core/data/pipelines/flip_direction.h"
#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

// Flips everything in a random direction, or not at all. One flip_ratio is shared evenly by all directions; a
// list gives each direction its own. MultiScaleFlipAug's choice comes first.
class RandomFlip final : public Transform {
 public:
  explicit RandomFlip(const ConfigNode& cfg) : directions_(read_flip_directions(cfg, "direction")) {
    read_ratios(cfg);
  }

  bool apply(Sample& sample, CounterRng& rng) const override {
    if (sample.flip) {  // the direction is in the meta data already
      sample.meta.flip = *sample.flip;
    } else {
      draw(sample.meta, rng);
    }
    if (!sample.meta.flip) return true;
    const std::string& direction = sample.meta.flip_direction;
    if (direction != "vertical") flip(sample, /*horizontal=*/true);
    if (direction != "horizontal") flip(sample, /*horizontal=*/false);
    return true;
  }

 private:
  void read_ratios(const ConfigNode& cfg) {
    const ConfigNode node = cfg.find("flip_ratio");
    if (node.is_list()) {
      ratios_ = node.as<std::vector<double>>(between(0, 1));
      if (ratios_.size() != directions_.size()) {
        node.fail(str_cat("has ", ratios_.size(), " ratios for ", directions_.size(), " directions"));
      }
    } else {
      const double ratio = cfg.get("flip_ratio", 0.0, between(0, 1));
      ratios_.assign(directions_.size(), ratio / static_cast<double>(directions_.size()));
    }
    if (std::accumulate(ratios_.begin(), ratios_.end(), 0.0) > 1 + 1e-9)
      node.fail("ratios add up to more than 1");
  }

  void draw(ImgMeta& meta, CounterRng& rng) const {
    double rest = rng.uniform(0, 1);
    meta.flip = false;
    for (size_t i = 0; i < ratios_.size(); ++i) {
      if (rest < ratios_[i]) {
        meta.flip = true;
        meta.flip_direction = directions_[i];
        return;
      }
      rest -= ratios_[i];
    }
  }

  static void flip(Sample& sample, bool horizontal) {
    cv::flip(sample.img, sample.img, horizontal ? 1 : 0);
    if (!sample.gt_semantic_seg.empty()) {
      cv::flip(sample.gt_semantic_seg, sample.gt_semantic_seg, horizontal ? 1 : 0);
    }
    const auto side = static_cast<float>(sample.meta.img_shape[horizontal ? 1 : 0]);
    for (BBox& box : sample.gt_bboxes) box = flipped(box, side, horizontal);
    for (BBox& box : sample.gt_bboxes_ignore) box = flipped(box, side, horizontal);
    for (InstanceMask& mask : sample.gt_masks) {
      mask = horizontal ? flip_horizontal(mask) : flip_vertical(mask);
    }
  }

  // x -> side - x, without a -1: coordinates are pixel edges.
  static BBox flipped(const BBox& box, float side, bool horizontal) {
    return horizontal ? BBox{side - box[2], box[1], side - box[0], box[3]}
                      : BBox{box[0], side - box[3], box[2], side - box[1]};
  }

  std::vector<std::string> directions_;
  std::vector<double> ratios_;  // one per direction
};

}  // namespace

OSPREY_REGISTER(Transform, RandomFlip);

}  // namespace osprey
