#pragma once

#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// Segments the whole image beside the RoI heads. Registered in models/roi_heads/mask_heads.
class SemanticHead : public Module {
 public:
  struct Outputs {
    Variable mask_pred;      // f32 (n, h, w, num_classes) logits
    Variable semantic_feat;  // (n, h, w, c), which RoI heads crop
  };
  virtual Outputs forward(const Variables& feats) const = 0;
  // labels u8 (n, h, w): ground truth at the resolution of mask_pred.
  virtual Variable loss(const Variable& mask_pred, const Tensor& labels) const = 0;
  // What the labels may be: 0..num_classes() - 1 and ignore_label().
  virtual int64_t num_classes() const = 0;
  virtual int64_t ignore_label() const = 0;
};

OSPREY_DECLARE_REGISTRY(SemanticHead);

}  // namespace osprey
