#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

const std::vector<std::string>& batch_keys() {
  static const std::vector<std::string> keys = {"img",      "gt_bboxes",        "gt_labels",
                                                "gt_masks", "gt_bboxes_ignore", "gt_semantic_seg"};
  return keys;
}

const char* hint_for(const std::string& key) {
  if (key == "gt_masks") return "LoadAnnotations needs with_mask: true";
  if (key == "gt_semantic_seg") return "LoadAnnotations needs with_seg: true";
  if (key == "gt_labels") return "LoadAnnotations needs with_label: true";
  if (key == "img") return "the pipeline needs LoadImageFromFile";
  return "the pipeline needs LoadAnnotations with with_bbox: true";
}

// Names what goes into the batch. All meta data always goes along, so `meta_keys` is checked and otherwise
// without effect.
class Collect final : public Transform {
 public:
  explicit Collect(const ConfigNode& cfg) {
    for (const std::string& key : cfg.get<std::vector<std::string>>("keys")) {
      check_known(cfg["keys"], key, batch_keys());
      keys_.insert(key);
    }
    for (const std::string& key : cfg.get("meta_keys", std::vector<std::string>{})) {
      check_known(cfg["meta_keys"], key,
                  {"filename", "ori_filename", "ori_shape", "img_shape", "pad_shape", "scale_factor", "flip",
                   "flip_direction", "img_norm_cfg"});
    }
  }

  bool apply(Sample& sample, CounterRng&) const override {
    sample.collected = keys_;
    return true;
  }

  void check_keys(SampleKeys& keys, const ConfigNode& cfg) const override {
    for (const std::string& key : keys_) {
      if (!keys.count(key)) cfg["keys"].fail(str_cat("nothing loads '", key, "': ", hint_for(key)));
    }
  }

 private:
  static void check_known(const ConfigNode& node, const std::string& key,
                          const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), key) != known.end()) return;
    const std::string nearest = nearest_match(key, known);
    node.fail(str_cat("unknown key '", key, "'; allowed: ", join(known),
                      nearest.empty() ? "" : str_cat(". Did you mean '", nearest, "'?")));
  }

  std::set<std::string> keys_;
};

}  // namespace

OSPREY_REGISTER(Transform, Collect);

}  // namespace osprey
