#pragma once

#include <optional>

#include "core/nn/conv2d.h"
#include "models/dense_heads/anchor_head.h"
#include "models/dense_heads/proposal_cfg.h"

namespace osprey {

// Region Proposal Network: Ren et al., "Faster R-CNN", section 3.1. A 3x3 convolution, then 1x1 convolutions
// for objectness and box deltas. Keys of AnchorHead, and proposal_cfg: a ProposalCfg used while training
// (test_cfg otherwise).
class RPNHead final : public AnchorHead {
 public:
  explicit RPNHead(const ConfigNode& cfg);
  // Losses: loss_rpn_cls, loss_rpn_bbox.
  TrainResult forward_train(const Variables& feats, const Batch& batch) const override;
  Tensors simple_test_rpn(const Variables& feats, const std::vector<ImgMeta>& img_metas) const override;
  Tensors aug_test_rpn(const std::vector<Variables>& feats,
                       const std::vector<std::vector<ImgMeta>>& img_metas) const override;
  void init_weights(uint64_t seed) override;

 private:
  std::pair<Variable, Variable> forward_single(const Variable& x) const override;
  Tensors get_bboxes(const Predictions& predictions, const std::vector<ImgMeta>& img_metas,
                     const ProposalCfg& cfg) const;
  PendingNms propose(const Predictions& predictions, const Tensors& anchors, int64_t image,
                     const ImgMeta& meta, const ProposalCfg& cfg) const;
  Tensor merge_aug_proposals(const Tensors& proposals, const ProposalCfg& cfg) const;
  Tensor objectness(const Tensor& cls_score) const;

  Conv2d *rpn_conv_, *rpn_cls_, *rpn_reg_;
  std::optional<ProposalCfg> train_proposals_, test_proposals_;
};

}  // namespace osprey
