#pragma once

#include "core/config/config.h"
#include "core/ops/nms.h"

namespace osprey {

// test_cfg of a single-stage detector: which of its dense predictions become detections.
struct DenseTestCfg {
  explicit DenseTestCfg(const ConfigNode& cfg);

  int64_t nms_pre;       // best-scored anchors of each level that are looked at; <= 0: all
  double min_bbox_size;  // both sides at least this many pixels of the network's input; 0 keeps everything
  double score_thr;      // scores must exceed it
  NmsConfig nms;
  int64_t max_per_img;  // -1: all
};

}  // namespace osprey
