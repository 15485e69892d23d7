#include "models/dense_heads/dense_test_cfg.h"

namespace osprey {

DenseTestCfg::DenseTestCfg(const ConfigNode& cfg)
    : nms_pre(cfg.get("nms_pre", int64_t{-1}, at_least(-1))),
      min_bbox_size(cfg.get("min_bbox_size", 0.0, non_negative())),
      score_thr(cfg.get<double>("score_thr", between(0, 1))),
      nms(NmsConfig::from(cfg["nms"])),
      max_per_img(cfg.get("max_per_img", int64_t{-1}, at_least(-1))) {}

}  // namespace osprey
