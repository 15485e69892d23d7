#include "models/roi_heads/mask_heads/fused_semantic_head.h"

#include <algorithm>

#include "core/nn/init.h"
#include "core/ops/elementwise.h"
#include "core/ops/interpolate.h"
#include "core/ops/losses.h"
#include "core/ops/reduce.h"
#include "core/ops/shape_ops.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(SemanticHead, "semantic head");

FusedSemanticHead::FusedSemanticHead(const ConfigNode& cfg)
    : num_ins_(static_cast<size_t>(cfg.get<int64_t>("num_ins", positive()))),
      fusion_level_(static_cast<size_t>(cfg.get<int64_t>("fusion_level", non_negative()))),
      num_classes_(cfg.get("num_classes", int64_t{183}, positive())),
      ignore_label_(cfg.get("ignore_label", int64_t{255}, between(-1, 255))),
      loss_weight_(cfg.get("loss_weight", 0.2, non_negative())) {
  if (fusion_level_ >= num_ins_) {
    cfg["fusion_level"].fail(str_cat("fusion_level must be in 0..", num_ins_ - 1));
  }
  const int64_t in_channels = cfg.get("in_channels", int64_t{256}, positive());
  const int64_t out_channels = cfg.get("conv_out_channels", int64_t{256}, positive());
  const int64_t num_convs = cfg.get("num_convs", int64_t{4}, non_negative());
  const ConvModuleCfg conv = ConvModuleCfg::from(cfg);

  lateral_convs_ = add_child("lateral_convs", std::make_unique<ModuleList<ConvModule>>());
  for (size_t i = 0; i < num_ins_; ++i) {
    lateral_convs_->append(std::make_unique<ConvModule>(in_channels, in_channels, 1, Conv2dParams(), conv));
  }
  convs_ = add_child("convs", std::make_unique<ModuleList<ConvModule>>());
  for (int64_t i = 0; i < num_convs; ++i) {
    convs_->append(std::make_unique<ConvModule>(i == 0 ? in_channels : out_channels, out_channels, 3,
                                                Conv2dParams::square(1, 1), conv));
  }
  conv_embedding_ = add_child(
      "conv_embedding", std::make_unique<ConvModule>(out_channels, out_channels, 1, Conv2dParams(), conv));
  conv_logits_ = add_child("conv_logits", std::make_unique<Conv2d>(out_channels, num_classes_, 1));
}

void FusedSemanticHead::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  kaiming_init(*conv_logits_, seed);
}

SemanticHead::Outputs FusedSemanticHead::forward(const Variables& feats) const {
  OSPREY_REQUIRE(feats.size() == num_ins_, path(), ": num_ins is ", num_ins_, ", there are ", feats.size(),
                 " levels");
  const ModuleScope scope(path());
  Variable x = (*lateral_convs_)[fusion_level_].forward(feats[fusion_level_]);
  for (size_t i = 0; i < num_ins_; ++i) {
    if (i == fusion_level_) continue;
    const Variable resized = upsample_bilinear(feats[i], x.dim(1), x.dim(2), /*align_corners=*/true);
    x = x + cast((*lateral_convs_)[i].forward(resized), x.dtype());
  }
  x = forward_through(*convs_, x);
  return {cast(conv_logits_->forward(x), DType::kF32), conv_embedding_->forward(x)};
}

// i64, flat; `counted` = pixels that are not ignored.
Tensor FusedSemanticHead::checked_labels(const Tensor& labels, int64_t* counted) const {
  const Tensor host = labels.to(DType::kI64).to(kCPU);
  const int64_t* label = host.data<int64_t>();
  *counted = 0;
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (label[i] == ignore_label_) continue;
    if (label[i] < 0 || label[i] >= num_classes_) {
      throw UserError(str_cat(path(), ": gt_semantic_seg holds label ", label[i], ", allowed are 0..",
                              num_classes_ - 1, " and ignore_label ", ignore_label_,
                              "; set num_classes of the semantic head to that of the stuff maps"));
    }
    ++*counted;
  }
  return host.reshape({-1}).to(labels.device());
}

// Mean over the pixels that are not ignored, as torch.nn.CrossEntropyLoss; 0 when all are.
Variable FusedSemanticHead::loss(const Variable& mask_pred, const Tensor& labels) const {
  const ModuleScope scope(path());
  const Shape wanted{mask_pred.dim(0), mask_pred.dim(1), mask_pred.dim(2)};
  if (labels.shape() != wanted) {
    throw UserError(str_cat(path(), ": gt_semantic_seg is ", to_string(labels.shape()), ", the prediction ",
                            to_string(wanted), "; SegRescale's scale_factor must be 1 / stride of level ",
                            fusion_level_, ", and the images padded to a multiple of that stride"));
  }
  int64_t counted = 0;
  const Tensor flat_labels = checked_labels(labels, &counted);
  const Variable logits = reshape(mask_pred, {-1, num_classes_});
  const Variable total = sum(softmax_cross_entropy(logits, flat_labels, ignore_label_));
  return (loss_weight_ / static_cast<double>(std::max<int64_t>(counted, 1))) * total;
}

OSPREY_REGISTER(SemanticHead, FusedSemanticHead);

}  // namespace osprey
