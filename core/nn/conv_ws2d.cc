#include "core/nn/conv_ws2d.h"

#include "core/nn/input_check.h"
#include "core/ops/weight_standardize.h"

namespace osprey {

ConvWS2d::ConvWS2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv2dParams& params,
                   bool bias)
    : ConvLayer({out_channels, kernel_size, kernel_size, in_channels / params.groups}, {WeightLayout::kConv},
                bias ? out_channels : 0),
      params_(params) {}

Variable ConvWS2d::forward(const Variable& x) const {
  const ModuleScope scope(path());
  check_input_features(*this, "channels", weight().variable.dim(3) * params_.groups, x.shape().back());
  const Variable standardised = weight_standardize(weight(), {}, {}, StandardizeMode::kStdPlusEps, 1e-5);
  return conv2d(x, standardised, bias_variable(), params_);
}

}  // namespace osprey
