#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace osprey {

// One image: ground truth f32 (g, 4) xyxy and proposals f32 (p, 4) xyxy with scores f32 (p).
struct ProposalImage {
  Tensor gt_bboxes, proposals, scores;
};

// mmdetection's eval_recalls (metric "proposal_fast"): in each image ground truths and proposals are paired
// greedily by the highest IoU; the recall is the share of ground truths whose pair reaches the threshold.
// Result: [proposal number][threshold]; all 0 when there is no ground truth. proposal_nums must be ascending.
std::vector<std::vector<double>> proposal_recalls(const std::vector<ProposalImage>& images,
                                                  const std::vector<int64_t>& proposal_nums,
                                                  const std::vector<double>& iou_thrs);

}  // namespace osprey
