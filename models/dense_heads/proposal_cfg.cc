#include "models/dense_heads/proposal_cfg.h"

namespace osprey {

ProposalCfg ProposalCfg::from(const ConfigNode& cfg) {
  ProposalCfg proposal;
  proposal.nms_pre = cfg.get<int64_t>("nms_pre", at_least(-1));
  if (proposal.nms_pre == 0) cfg["nms_pre"].fail("must be > 0, or -1 for all, got 0");
  proposal.min_bbox_size = cfg.get("min_bbox_size", 0.0, non_negative());
  proposal.nms_across_levels = cfg.get("nms_across_levels", false);
  cfg.get("nms_post", int64_t{0});  // of mmdetection < 2.0; max_num took its place

  if (cfg.has("max_num") && cfg.has("max_per_img") &&
      cfg.get<int64_t>("max_num") != cfg.get<int64_t>("max_per_img")) {
    cfg["max_num"].fail("max_num is the old name of max_per_img, and the two differ; remove max_num");
  }
  proposal.max_per_img = cfg.get<int64_t>(cfg.has("max_per_img") ? "max_per_img" : "max_num", positive());

  if (cfg.has("nms")) proposal.nms = NmsConfig::from(cfg["nms"]);
  if (cfg.has("nms_thr")) {
    const double threshold = cfg.get<double>("nms_thr", between(0, 1));
    if (cfg.has("nms") && proposal.nms.iou_threshold != threshold) {
      cfg["nms_thr"].fail("nms_thr is the old name of nms.iou_threshold, and the two differ; remove nms_thr");
    }
    proposal.nms.iou_threshold = threshold;
  } else if (!cfg.has("nms")) {
    cfg.fail("needs 'nms', e.g. nms: {type: nms, iou_threshold: 0.7}");
  }
  return proposal;
}

}  // namespace osprey
