#pragma once

#include "core/nn/weight_layer.h"
#include "core/ops/conv2d.h"

namespace osprey {

// torch.nn.ConvTranspose2d with a square kernel and without output_padding.
class ConvTranspose2d final : public WeightLayer {
 public:
  ConvTranspose2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                  const Conv2dParams& params = {}, bool bias = true);
  // x (n, h, w, in_channels) -> (n, (h - 1) stride - 2 pad + kernel_size, ..., out_channels).
  Variable forward(const Variable& x) const { return convolve(x, params_); }
  // relu(forward(x)) in one pass over memory.
  Variable forward_relu(const Variable& x) const { return convolve(x, params_.with_relu()); }

 private:
  Variable convolve(const Variable& x, const Conv2dParams& params) const;

  Conv2dParams params_;
};

}  // namespace osprey
