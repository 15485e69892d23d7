#include "core/nn/conv_transpose2d.h"

#include "core/nn/input_check.h"

namespace osprey {

ConvTranspose2d::ConvTranspose2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                                 const Conv2dParams& params, bool bias)
    : WeightLayer({in_channels, kernel_size, kernel_size, out_channels / params.groups},
                  {WeightLayout::kDeconv}, bias ? out_channels : 0),
      params_(params) {}

Variable ConvTranspose2d::convolve(const Variable& x, const Conv2dParams& params) const {
  const ModuleScope scope(path());
  check_input_features(*this, "channels", weight().variable.dim(0), x.shape().back());
  return conv_transpose2d(x, weight(), bias_variable(), params);
}

}  // namespace osprey
