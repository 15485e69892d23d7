#include "core/nn/conv_aws2d.h"

#include <numeric>

#include "core/nn/input_check.h"
#include "core/ops/weight_standardize.h"

namespace osprey {
namespace {

constexpr double kEps = 1e-5;

double mean_of(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_doubles();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

ConvAWS2d::ConvAWS2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                     const Conv2dParams& params, bool bias)
    : ConvLayer({out_channels, kernel_size, kernel_size, in_channels / params.groups}, {WeightLayout::kConv},
                bias ? out_channels : 0),
      params_(params),
      weight_gamma_(add_buffer("weight_gamma", Tensor::full({out_channels, 1, 1, 1}, 1, DType::kF32))),
      weight_beta_(add_buffer("weight_beta", Tensor::zeros({out_channels, 1, 1, 1}, DType::kF32))) {}

void ConvAWS2d::check_input(const Variable& x) const {
  check_input_features(*this, "channels", weight().variable.dim(3) * params_.groups, x.shape().back());
}

Variable ConvAWS2d::standardised_weight() const {
  return weight_standardize(weight(), weight_gamma_->value, weight_beta_->value,
                            StandardizeMode::kVariancePlusEps, kEps);
}

Variable ConvAWS2d::forward(const Variable& x) const {
  const ModuleScope scope(path());
  check_input(x);
  return conv2d(x, standardised_weight(), bias_variable(), params_);
}

void ConvAWS2d::init_weights(uint64_t seed) {
  ConvLayer::init_weights(seed);
  weight_drawn();
}

void ConvAWS2d::weight_drawn() {
  const FilterMoments moments = filter_moments(weight().variable.value(), kEps);
  weight_gamma_->value.copy_from(moments.deviation.reshape(weight_gamma_->value.shape()).to(device()));
  weight_beta_->value.copy_from(moments.mean.reshape(weight_beta_->value.shape()).to(device()));
}

// As mmcv, a gamma whose mean is not positive counts as not given.
void ConvAWS2d::upgrade_state(const std::string& prefix, StateDict& state) const {
  const Tensor* loaded = state.find(prefix + "weight");
  const Tensor* gamma = state.find(prefix + "weight_gamma");
  if (loaded == nullptr || loaded->rank() != 4 || loaded->empty()) return;
  if (gamma && !gamma->empty() && mean_of(*gamma) > 0) return;
  const FilterMoments moments = filter_moments(*loaded, kEps);
  const Shape shape{loaded->dim(0), 1, 1, 1};
  state.put(prefix + "weight_gamma", moments.deviation.reshape(shape));
  state.put(prefix + "weight_beta", moments.mean.reshape(shape));
}

}  // namespace osprey
