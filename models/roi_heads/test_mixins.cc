#include "models/roi_heads/test_mixins.h"

#include "core/bbox/transforms.h"
#include "core/mask/instance_mask.h"
#include "core/ops/elementwise.h"

namespace osprey {
namespace {

Tensors bboxes_of(const std::vector<Detections>& detections) {
  Tensors bboxes;
  for (const Detections& image : detections) bboxes.push_back(image.bboxes);
  return bboxes;
}

Tensor labels_of(const std::vector<Detections>& detections) {
  Tensors labels;
  for (const Detections& image : detections) labels.push_back(image.labels);
  return concat(labels);
}

// Boxes of the files' pixels as an augmented network input shows them.
Tensors map_boxes(const Tensors& bboxes, const std::vector<ImgMeta>& img_metas) {
  Tensors mapped;
  for (size_t i = 0; i < bboxes.size(); ++i) {
    const ImgMeta& meta = img_metas[i];
    mapped.push_back(
        bbox_mapping(bboxes[i], meta.img_shape, meta.scale_factor, meta.flip, meta.flip_direction));
  }
  return mapped;
}

// Mirrors masks (k, m, m).
Tensor flip_masks(const Tensor& masks, const std::string& direction) {
  const int64_t h = masks.dim(1), w = masks.dim(2);
  const bool across = direction != "vertical", down = direction != "horizontal";
  const std::vector<float> from = masks.to_vector<float>();
  Tensor flipped(masks.shape(), DType::kF32);
  float* to = flipped.mutable_data<float>();
  for (int64_t k = 0; k < masks.dim(0); ++k) {
    for (int64_t y = 0; y < h; ++y) {
      for (int64_t x = 0; x < w; ++x) {
        const int64_t source_y = down ? h - 1 - y : y, source_x = across ? w - 1 - x : x;
        to[(k * h + y) * w + x] = from[(k * h + source_y) * w + source_x];
      }
    }
  }
  return flipped;
}

}  // namespace

Tensor mean_of(const Tensors& tensors) {
  Variable total = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) total = total + Variable(tensors[i]);
  return ((1.0 / static_cast<double>(tensors.size())) * total).value();
}

RoITestMixin::RoITestMixin(const ConfigNode& cfg) {
  if (!cfg.find("test_cfg").is_null()) test_cfg_.emplace(cfg["test_cfg"]);
}

const RCNNTestCfg& RoITestMixin::test_cfg() const {
  OSPREY_REQUIRE(test_cfg_, path(), ": testing needs model.test_cfg.rcnn");
  return *test_cfg_;
}

std::vector<DetectionResult> RoITestMixin::simple_test(const Variables& feats, const Tensors& proposals,
                                                       const std::vector<ImgMeta>& img_metas,
                                                       bool rescale) const {
  const NoGradGuard no_grad;
  const Context context = look_at(feats);
  const ScoredBoxes scored = score_boxes(context, without_scores(proposals), img_metas);
  std::vector<Detections> detections;
  std::vector<DetectionResult> results;
  Tensors network_bboxes;
  for (size_t i = 0; i < img_metas.size(); ++i) {
    detections.push_back(Detections::from(last_bbox_head().get_bboxes(
        scored.bboxes[i], scored.cls_scores[i], scored.bbox_preds[i], img_metas[i], rescale, test_cfg())));
    results.push_back(to_result(detections.back()));
    results.back().has_masks = last_mask_head() != nullptr;
    network_bboxes.push_back(detections.back().in_network_pixels(img_metas[i], rescale));
  }
  const Tensor mask_rois = bbox2roi(network_bboxes);
  if (!last_mask_head() || mask_rois.dim(0) == 0) return results;
  const Tensors masks =
      split_rows(mask_probabilities(context, mask_rois, labels_of(detections)), network_bboxes);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].masks =
        last_mask_head()->get_seg_masks(masks[i], network_bboxes[i], img_metas[i], rescale, test_cfg());
  }
  return results;
}

// Boxes and scores of the same proposal are averaged over the augmentations, then NMS; masks of the same
// detection likewise. Masks have the size of the file, as in the reference, whatever `rescale` says.
std::vector<DetectionResult> RoITestMixin::aug_test(const std::vector<Variables>& feats,
                                                    const Tensors& proposals,
                                                    const std::vector<std::vector<ImgMeta>>& img_metas,
                                                    bool rescale) const {
  const NoGradGuard no_grad;
  std::vector<Context> contexts;
  for (const Variables& augmented : feats) contexts.push_back(look_at(augmented));
  const std::vector<Detections> detections = merge_boxes(contexts, without_scores(proposals), img_metas);
  std::vector<DetectionResult> results;
  int64_t count = 0;
  for (size_t i = 0; i < detections.size(); ++i) {
    results.push_back(to_result(detections[i]));
    results.back().has_masks = last_mask_head() != nullptr;
    if (!rescale) results.back().bboxes = detections[i].in_network_pixels(img_metas[0][i], /*rescaled=*/true);
    count += detections[i].labels.dim(0);
  }
  if (!last_mask_head() || count == 0) return results;
  const Tensors masks = split_rows(merge_masks(contexts, detections, img_metas), bboxes_of(detections));
  for (size_t i = 0; i < results.size(); ++i) {
    const auto [h, w] = img_metas[0][i].ori_shape;
    results[i].masks = paste_masks(masks[i], detections[i].bboxes, h, w, test_cfg().mask_thr_binary);
  }
  return results;
}

// In pixels of the files.
std::vector<Detections> RoITestMixin::merge_boxes(const std::vector<Context>& contexts,
                                                  const Tensors& proposals,
                                                  const std::vector<std::vector<ImgMeta>>& img_metas) const {
  std::vector<Tensors> bboxes(proposals.size()), scores(proposals.size());  // [image][augmentation]
  for (size_t a = 0; a < contexts.size(); ++a) {
    const ScoredBoxes scored = score_boxes(contexts[a], map_boxes(proposals, img_metas[a]), img_metas[a]);
    for (size_t i = 0; i < proposals.size(); ++i) {
      const ImgMeta& meta = img_metas[a][i];
      const BBoxHead::Decoded decoded =
          last_bbox_head().decode(scored.bboxes[i], scored.cls_scores[i], scored.bbox_preds[i], meta);
      bboxes[i].push_back(bbox_mapping_back(decoded.bboxes, meta.img_shape, meta.scale_factor, meta.flip,
                                            meta.flip_direction));
      scores[i].push_back(decoded.scores);
    }
  }
  std::vector<Detections> detections;
  for (size_t i = 0; i < proposals.size(); ++i) {
    detections.push_back(
        Detections::from(multiclass_nms(mean_of(bboxes[i]), mean_of(scores[i]), test_cfg().score_thr,
                                        test_cfg().nms, test_cfg().max_per_img)));
  }
  return detections;
}

Tensor RoITestMixin::merge_masks(const std::vector<Context>& contexts,
                                 const std::vector<Detections>& detections,
                                 const std::vector<std::vector<ImgMeta>>& img_metas) const {
  const Tensors bboxes = bboxes_of(detections);
  const Tensor labels = labels_of(detections);
  Tensors augmented;
  for (size_t a = 0; a < contexts.size(); ++a) {
    const Tensor rois = bbox2roi(map_boxes(bboxes, img_metas[a]));
    Tensors masks = split_rows(mask_probabilities(contexts[a], rois, labels), bboxes);
    for (size_t i = 0; i < masks.size(); ++i) {
      const ImgMeta& meta = img_metas[a][i];
      if (meta.flip) masks[i] = flip_masks(masks[i], meta.flip_direction);
    }
    augmented.push_back(concat(masks));
  }
  return mean_of(augmented);
}

}  // namespace osprey
