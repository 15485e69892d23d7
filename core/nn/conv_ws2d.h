#pragma once

#include "core/nn/weight_layer.h"
#include "core/ops/conv2d.h"

namespace osprey {

// `type: ConvWS`: a convolution whose filters are standardised, (w - mean) / (std + 1e-5), each time they are
// used (Qiao et al., "Weight Standardization").
class ConvWS2d final : public ConvLayer {
 public:
  ConvWS2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv2dParams& params,
           bool bias);
  Variable forward(const Variable& x) const override;

 private:
  Conv2dParams params_;
};

}  // namespace osprey
