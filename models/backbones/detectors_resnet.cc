#include "models/backbones/detectors_resnet.h"

namespace osprey {
namespace {

// mmdetection has no shallower ones.
const ConfigNode& with_bottlenecks(const ConfigNode& cfg) {
  const int64_t depth = cfg.get<int64_t>("depth");
  if (depth < 50) cfg["depth"].fail(str_cat("DetectoRS has depth 50, 101 or 152, got ", depth));
  return cfg;
}

}  // namespace

DetectoRS_ResNet::DetectoRS_ResNet(const ConfigNode& cfg, const Variant& variant)
    : ResNet(with_bottlenecks(cfg), variant.for_detectors()), output_img_(cfg.get("output_img", false)) {}

Variables DetectoRS_ResNet::forward(const Variable& img) const {
  Variables outs = ResNet::forward(img);
  if (output_img_) outs.insert(outs.begin(), img);
  return outs;
}

Variables DetectoRS_ResNet::rfp_forward(const Variable& img, const Variables& rfp_feats) const {
  return run_stages(img, rfp_feats);
}

OSPREY_REGISTER(Backbone, DetectoRS_ResNet);

}  // namespace osprey
