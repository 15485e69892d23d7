#pragma once

#include "core/nn/derived_state.h"
#include "core/nn/weight_layer.h"
#include "core/ops/conv2d.h"

namespace osprey {

// `type: ConvAWS`, adaptive weight standardisation of DetectoRS (Qiao et al., section 4.1): the convolution
// uses weight_gamma (w - mean) / sqrt(var + 1e-5) + weight_beta per filter, variance unbiased.
// Buffers weight_gamma and weight_beta (co, 1, 1, 1), f32, take no part in training. Where they are not given
// - in the checkpoint of an ordinary backbone, after weights have been drawn - they are the weight's own
// deviation and mean, so that the layer begins as the plain convolution with that weight.
class ConvAWS2d : public ConvLayer, public StateUpgrade, public FollowsWeight {
 public:
  ConvAWS2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size, const Conv2dParams& params,
            bool bias);
  Variable forward(const Variable& x) const override;

  void init_weights(uint64_t seed) override;
  void upgrade_state(const std::string& prefix, StateDict& state) const override;
  void weight_drawn() override;

  // The weight that is convolved with, in the weight's dtype.
  Variable standardised_weight() const;

 protected:
  void check_input(const Variable& x) const;
  Conv2dParams params_;

 private:
  Buffer *weight_gamma_, *weight_beta_;
};

}  // namespace osprey
