#include "core/nn/conv2d.h"

#include "core/nn/input_check.h"

namespace osprey {

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv2dParams& params,
               bool bias)
    : ConvLayer({out_channels, kernel_size, kernel_size, in_channels / params.groups}, {WeightLayout::kConv},
                bias ? out_channels : 0),
      params_(params) {
  OSPREY_REQUIRE(in_channels % params.groups == 0 && out_channels % params.groups == 0,
                 "Conv2d: ", in_channels, " -> ", out_channels, " channels do not divide into ",
                 params.groups, " groups");
}

Variable Conv2d::convolve(const Variable& x, const Conv2dParams& params) const {
  const ModuleScope scope(path());
  check_input_features(*this, "channels", weight().variable.dim(3) * params_.groups, x.shape().back());
  return conv2d(x, weight(), bias_variable(), params);
}

}  // namespace osprey
