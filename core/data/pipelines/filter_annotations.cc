#include <algorithm>

#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

// Drops small instances: boxes that are not larger than min_gt_bbox_wh ([w, h], pixels) with by_box (true),
// masks under min_gt_mask_area (1) with by_mask (false). A sample without any instance left is rejected
// unless keep_empty is false (mmdetection's sense of that key).
class FilterAnnotations final : public Transform {
 public:
  explicit FilterAnnotations(const ConfigNode& cfg)
      : min_wh_(cfg.get("min_gt_bbox_wh", std::vector<double>{1, 1}, non_negative())),
        min_mask_area_(cfg.get("min_gt_mask_area", 1.0, non_negative())),
        by_box_(cfg.get("by_box", true)),
        by_mask_(cfg.get("by_mask", false)),
        rejects_empty_(cfg.get("keep_empty", true)) {
    if (min_wh_.size() != 2) cfg["min_gt_bbox_wh"].fail("must be [width, height]");
    if (!by_box_ && !by_mask_) cfg.fail("by_box and by_mask are both false: nothing would be filtered");
  }

  bool apply(Sample& sample, CounterRng&) const override {
    if (sample.gt_bboxes.empty()) return true;
    std::vector<bool> keep(sample.gt_bboxes.size(), true);
    for (size_t i = 0; i < keep.size(); ++i) {
      const BBox& box = sample.gt_bboxes[i];
      if (by_box_) keep[i] = box[2] - box[0] > min_wh_[0] && box[3] - box[1] > min_wh_[1];
      if (by_mask_ && i < sample.gt_masks.size())
        keep[i] = keep[i] && area(sample.gt_masks[i]) >= min_mask_area_;
    }
    keep_instances(sample, keep);
    return !sample.gt_bboxes.empty() || !rejects_empty_;
  }

  void check_keys(SampleKeys& keys, const ConfigNode& cfg) const override {
    if (!keys.count("gt_bboxes")) cfg.fail("needs boxes: LoadAnnotations must come first");
    if (by_mask_ && !keys.count("gt_masks")) cfg.fail("by_mask needs masks: LoadAnnotations with_mask: true");
  }

 private:
  std::vector<double> min_wh_;
  double min_mask_area_;
  bool by_box_, by_mask_, rejects_empty_;
};

}  // namespace

OSPREY_REGISTER(Transform, FilterAnnotations);

}  // namespace osprey
