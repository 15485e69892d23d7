#pragma once

#include "models/necks/fpn.h"

namespace osprey {

// Liu et al., "Path Aggregation Network for Instance Segmentation", Fig. 1b: behind FPN's top-down path one
// that leads up again. Keys of FPN.
class PAFPN final : public FPN {
 public:
  explicit PAFPN(const ConfigNode& cfg);
  void init_weights(uint64_t seed) override;

 private:
  Variables bottom_up(Variables outs) const override;

  ModuleList<ConvModule>*downsample_convs_, *pafpn_convs_;
};

}  // namespace osprey
