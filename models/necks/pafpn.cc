#include "models/necks/pafpn.h"

#include "core/nn/init.h"
#include "core/ops/elementwise.h"

namespace osprey {

PAFPN::PAFPN(const ConfigNode& cfg) : FPN(cfg) {
  const ConvModuleCfg conv = ConvModuleCfg::from(cfg, Activation::kNone);
  const auto conv3x3 = [&](int64_t stride) {
    return std::make_unique<ConvModule>(out_channels(), out_channels(), 3, Conv2dParams::square(stride, 1),
                                        conv);
  };
  downsample_convs_ = add_child("downsample_convs", std::make_unique<ModuleList<ConvModule>>());
  pafpn_convs_ = add_child("pafpn_convs", std::make_unique<ModuleList<ConvModule>>());
  for (size_t i = 1; i < num_laterals(); ++i) {
    downsample_convs_->append(conv3x3(/*stride=*/2));
    pafpn_convs_->append(conv3x3(/*stride=*/1));
  }
}

void PAFPN::init_weights(uint64_t seed) {
  FPN::init_weights(seed);
  for (ModuleList<ConvModule>* convs : {downsample_convs_, pafpn_convs_}) {
    for (ConvModule* conv : *convs) xavier_init(conv->conv(), seed, Distribution::kUniform);
  }
}

Variables PAFPN::bottom_up(Variables outs) const {
  for (size_t i = 0; i + 1 < outs.size(); ++i)
    outs[i + 1] = outs[i + 1] + cast((*downsample_convs_)[i].forward(outs[i]), outs[i + 1].dtype());
  for (size_t i = 1; i < outs.size(); ++i) outs[i] = (*pafpn_convs_)[i - 1].forward(outs[i]);
  return outs;
}

OSPREY_REGISTER(Neck, PAFPN);

}  // namespace osprey
