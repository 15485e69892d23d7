#include "models/roi_heads/mask_heads/mask_head.h"

#include <cmath>

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/ops/shape_ops.h"
#include "models/find_or.h"

namespace osprey {
namespace {

constexpr char kLossMask[] = "{type: CrossEntropyLoss, use_mask: true, loss_weight: 1.0}";

// Boxes and ground truths of all positives on the CPU, where the masks are; one wait when they come from a
// GPU.
struct Positives {
  Tensors bboxes, gt_inds;  // per image f32 (p, 4), i64 (p)

  explicit Positives(const SamplingResults& sampled) {
    Tensors parts;
    for (const SamplingResult& image : sampled) {
      parts.push_back(image.pos_bboxes.reshape({-1}));
      parts.push_back(image.pos_assigned_gt_inds.to(DType::kF32));  // exact below 2^24
    }
    const Tensor all = concat(parts).to(kCPU);
    int64_t begin = 0;
    const auto next = [&](int64_t count) {
      begin += count;
      return all.slice(begin - count, begin);
    };
    for (const SamplingResult& image : sampled) {
      const int64_t count = image.pos_bboxes.dim(0);
      bboxes.push_back(next(4 * count).reshape({count, 4}));
      gt_inds.push_back(next(count).to(DType::kI64));
    }
  }
};

}  // namespace

MaskHead::MaskHead(const ConfigNode& cfg)
    : num_classes_(cfg.get("num_classes", int64_t{80}, positive())),
      class_agnostic_(cfg.get("class_agnostic", false)),
      loss_mask_(add_child("loss_mask", build<Loss>(find_or(cfg, "loss_mask", kLossMask)))) {}

Tensor MaskHead::get_targets(const SamplingResults& sampled, const std::vector<InstanceMasks>& gt_masks,
                             const RCNNTrainCfg& cfg) const {
  if (gt_masks.size() != sampled.size()) {
    throw UserError(path() +
                    ": the training batch has no gt_masks; the pipeline needs LoadAnnotations with "
                    "with_mask: true, and 'gt_masks' in the keys of Collect");
  }
  const auto [mask_h, mask_w] = cfg.mask_size;
  const Positives positives(sampled);
  Tensors targets{Tensor({0, mask_h, mask_w}, DType::kF32)};
  for (size_t i = 0; i < sampled.size(); ++i) {
    const SamplingResult& image = sampled[i];
    if (image.pos_bboxes.dim(0) == 0) continue;
    const Tensor cropped =
        mask_target(gt_masks[i], positives.bboxes[i], positives.gt_inds[i], mask_h, mask_w);
    targets.push_back(cropped.to(DType::kF32));
  }
  return concat(targets).to(sampled[0].pos_bboxes.device());
}

// (n, m, m): the logits of each row's class.
Variable MaskHead::of_class(const Variable& mask_pred, const Tensor& labels) const {
  const Tensor channels = class_agnostic_ ? Tensor::zeros_like(labels) : labels;
  return gather_channel(mask_pred, channels);
}

LossDict MaskHead::loss(const Variable& mask_pred, const Tensor& mask_targets, const Tensor& labels) const {
  const ModuleScope scope(path());
  if (mask_pred.dim(1) != mask_targets.dim(1) || mask_pred.dim(2) != mask_targets.dim(2)) {
    throw UserError(str_cat(path(), ": predicts masks of ", mask_pred.dim(1), " x ", mask_pred.dim(2),
                            ", but mask_size of train_cfg.rcnn is ", mask_targets.dim(1), " x ",
                            mask_targets.dim(2)));
  }
  LossDict losses;
  losses.add("loss_mask", mask_pred.dim(0) == 0 ? sum(mask_pred)
                                                : (*loss_mask_)(of_class(mask_pred, labels), mask_targets));
  return losses;
}

Tensor MaskHead::probabilities(const Variable& mask_pred, const Tensor& labels) const {
  return sigmoid(of_class(mask_pred, labels)).value();
}

std::vector<Rle> MaskHead::get_seg_masks(const Tensor& probabilities, const Tensor& bboxes,
                                         const ImgMeta& meta, bool rescale, const RCNNTestCfg& cfg) const {
  Tensor placed = bboxes.to(kCPU).clone();
  auto [img_h, img_w] = meta.ori_shape;
  if (rescale) {
    float* xyxy = placed.mutable_data<float>();
    for (int64_t i = 0; i < placed.numel(); ++i) xyxy[i] /= meta.scale_factor[i % 4];
  } else {
    img_h = std::lrint(static_cast<float>(img_h) * meta.scale_factor[1]);
    img_w = std::lrint(static_cast<float>(img_w) * meta.scale_factor[0]);
  }
  return paste_masks(probabilities, placed.to(probabilities.device()), img_h, img_w, cfg.mask_thr_binary);
}

OSPREY_DEFINE_REGISTRY(MaskHead, "mask head");

}  // namespace osprey
