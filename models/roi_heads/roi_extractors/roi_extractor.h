#pragma once

#include "core/nn/module.h"
#include "core/registry/registry.h"

namespace osprey {

// Cuts a fixed-size feature map for every RoI out of the pyramid. Registered in
// models/roi_heads/roi_extractors.
class RoIExtractor : public Module {
 public:
  // feats: the pyramid, finest first, of which the first num_inputs() levels are used. rois f32 (k, 5): image
  // index, x1, y1, x2, y2 in pixels of the network's input. Returns (k, out_h, out_w, c).
  virtual Variable forward(const Variables& feats, const Tensor& rois) const = 0;
  virtual size_t num_inputs() const = 0;
};

OSPREY_DECLARE_REGISTRY(RoIExtractor);

}  // namespace osprey
