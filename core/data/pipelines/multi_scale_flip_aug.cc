#include "core/base/logging.h"
#include "core/data/pipelines/flip_direction.h"
#include "core/data/pipelines/img_scale.h"
#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

bool has_type(const ConfigNode& transforms, const std::string& type) {
  for (const ConfigNode& item : transforms.items()) {
    if (item.get("type", "") == type) return true;
  }
  return false;
}

// Test-time augmentation: runs `transforms` once for each scale (outer) and for each of not flipped, flipped
// in each direction (inner). Scales are pairs (img_scale) or factors (scale_factor).
class MultiScaleFlipAug final : public Transform {
 public:
  explicit MultiScaleFlipAug(const ConfigNode& cfg) : transforms_(cfg["transforms"]) {
    const ConfigNode img_scale = cfg.find("img_scale");
    const ConfigNode scale_factor = cfg.find("scale_factor");
    if (img_scale.is_null() == scale_factor.is_null())
      cfg.fail("needs exactly one of img_scale and scale_factor");
    if (!img_scale.is_null()) {
      img_scales_ = read_img_scales(img_scale);
    } else if (scale_factor.is_list()) {
      scale_factors_ = scale_factor.as<std::vector<double>>(positive());
    } else {
      scale_factors_ = {scale_factor.as<double>(positive())};
    }
    const std::vector<std::string> directions = read_flip_directions(cfg, "flip_direction");
    if (cfg.get("flip", false)) {
      flip_directions_ = directions;
      if (!has_type(cfg["transforms"], "RandomFlip")) {
        log_warning(cfg.where() + ": flip has no effect without RandomFlip in transforms");
      }
    } else if (directions != std::vector<std::string>{"horizontal"}) {
      log_warning(cfg["flip_direction"].where() + ": has no effect without flip: true");
    }
  }

  bool apply(Sample&, CounterRng&) const override {
    throw Error("MultiScaleFlipAug makes several samples of one: call expand()");
  }

  Samples expand(Sample sample, CounterRng& rng) const override {
    Samples augmented;
    for (const ImgScale& scale : img_scales_) {
      sample.scale = scale;
      add_flips(sample, rng, augmented);
    }
    for (const double factor : scale_factors_) {
      sample.scale_factor = factor;
      add_flips(sample, rng, augmented);
    }
    return augmented;
  }

  void check_keys(SampleKeys& keys, const ConfigNode&) const override {
    keys.insert("scale");
    transforms_.check_keys(keys);
  }

 private:
  void add_flips(Sample& sample, CounterRng& rng, Samples& augmented) const {
    sample.flip = false;
    sample.meta.flip_direction = "horizontal";
    add(sample, rng, augmented);
    sample.flip = true;
    for (const std::string& direction : flip_directions_) {
      sample.meta.flip_direction = direction;
      add(sample, rng, augmented);
    }
  }

  // Transforms replace a sample's matrices or flip them in place, so that each augmentation needs its own
  // pixels.
  void add(const Sample& sample, CounterRng& rng, Samples& augmented) const {
    Sample copy = sample;
    copy.img = sample.img.clone();
    copy.gt_semantic_seg = sample.gt_semantic_seg.clone();
    for (Sample& out : transforms_.run(std::move(copy), rng)) augmented.push_back(std::move(out));
  }

  Pipeline transforms_;
  std::vector<ImgScale> img_scales_;
  std::vector<double> scale_factors_;
  std::vector<std::string> flip_directions_;  // empty without flip
};

}  // namespace

OSPREY_REGISTER(Transform, MultiScaleFlipAug);

}  // namespace osprey
