#pragma once

#include "core/nn/weight_layer.h"
#include "core/ops/conv2d.h"

namespace osprey {

// torch.nn.Conv2d with a square kernel.
class Conv2d final : public ConvLayer {
 public:
  Conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv2dParams& params = {},
         bool bias = true);
  Variable forward(const Variable& x) const override { return convolve(x, params_); }
  Variable forward_relu(const Variable& x) const override { return convolve(x, params_.with_relu()); }

 private:
  Variable convolve(const Variable& x, const Conv2dParams& params) const;

  Conv2dParams params_;
};

}  // namespace osprey
