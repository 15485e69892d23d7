#pragma once

#include "core/config/config.h"
#include "core/ops/nms.h"

namespace osprey {

// train_cfg.rpn_proposal and test_cfg.rpn: how many proposals leave the RPN.
struct ProposalCfg {
  int64_t nms_pre = 0;  // best-scored boxes of each level that enter NMS; <= 0: all
  int64_t max_per_img = 0;
  double min_bbox_size = 0;  // both sides at least this many pixels; 0 keeps everything
  NmsConfig nms;
  bool nms_across_levels = false;

  // Also reads the older names: max_num (max_per_img), nms_thr (nms.iou_threshold), nms_post.
  static ProposalCfg from(const ConfigNode& cfg);
};

}  // namespace osprey
