#include "models/roi_heads/bbox_heads/double_convfc_bbox_head.h"

#include "core/nn/init.h"
#include "core/ops/elementwise.h"
#include "models/find_or.h"

namespace osprey {
namespace {

constexpr char kNormCfg[] = "{type: BN}";

int64_t conv_out_channels(const ConfigNode& cfg) {
  const int64_t channels = cfg.get("conv_out_channels", int64_t{1024}, positive());
  if (channels % Bottleneck::kExpansion != 0) cfg["conv_out_channels"].fail("must be a multiple of 4");
  return channels;
}

int64_t fc_out_channels(const ConfigNode& cfg) {
  return cfg.get("fc_out_channels", int64_t{1024}, positive());
}

ConfigNode averaging(const ConfigNode& cfg) {
  if (!cfg.get("with_avg_pool", true))
    cfg["with_avg_pool"].fail("must be true: fc_reg reads the averaged map");
  return cfg.with("with_avg_pool", true);
}

}  // namespace

// 3x3 and 1x1 convolutions beside a 1x1 projection. Its norms are plain BN whatever norm_cfg says, as
// mmdetection's.
class DoubleConvFCBBoxHead::BasicResBlock final : public Module {
 public:
  BasicResBlock(int64_t in_channels, int64_t out_channels) {
    ConvModuleCfg cfg;
    cfg.norm_cfg = parse_config(kNormCfg);
    const auto conv = [&](int64_t out, int64_t kernel, const ConvModuleCfg& how) {
      return std::make_unique<ConvModule>(in_channels, out, kernel, Conv2dParams::square(1, kernel / 2), how);
    };
    conv1_ = add_child("conv1", conv(in_channels, 3, cfg));
    cfg.activation = Activation::kNone;
    conv2_ = add_child("conv2", conv(out_channels, 1, cfg));
    conv_identity_ = add_child("conv_identity", conv(out_channels, 1, cfg));
  }
  Variable forward(const Variable& x) const {
    const ModuleScope scope(path());
    return add_relu(conv2_->forward(conv1_->forward(x)), conv_identity_->forward(x));
  }

 private:
  ConvModule *conv1_, *conv2_, *conv_identity_;
};

DoubleConvFCBBoxHead::DoubleConvFCBBoxHead(const ConfigNode& cfg)
    : BBoxHead(averaging(cfg), Shape{fc_out_channels(cfg)}, Shape{1, 1, conv_out_channels(cfg)}) {
  const int64_t in_channels = cfg.get("in_channels", int64_t{256}, positive());
  res_block_ = add_child("res_block", std::make_unique<BasicResBlock>(in_channels, conv_out_channels(cfg)));
  conv_branch_ = add_child("conv_branch", std::make_unique<ModuleList<Bottleneck>>());
  ResBlockSpec spec;
  spec.in_channels = conv_out_channels(cfg);
  spec.planes = conv_out_channels(cfg) / Bottleneck::kExpansion;
  spec.conv_cfg = cfg.find("conv_cfg");
  spec.norm_cfg = find_or(cfg, "norm_cfg", kNormCfg);
  const auto num_convs = cfg.get<int64_t>("num_convs", positive());
  for (int64_t i = 0; i < num_convs; ++i) conv_branch_->append(std::make_unique<Bottleneck>(spec));
  fc_branch_ = add_child("fc_branch", std::make_unique<ModuleList<Linear>>());
  const auto num_fcs = cfg.get<int64_t>("num_fcs", positive());
  fc_branch_->append(
      std::make_unique<Linear>(Shape{roi_feat_size_, roi_feat_size_, in_channels}, fc_out_channels(cfg)));
  for (int64_t i = 1; i < num_fcs; ++i)
    fc_branch_->append(std::make_unique<Linear>(fc_out_channels(cfg), fc_out_channels(cfg)));
}

void DoubleConvFCBBoxHead::init_weights(uint64_t seed) {
  BBoxHead::init_weights(seed);
  for (Linear* fc : *fc_branch_) xavier_init(*fc, seed, Distribution::kUniform);
}

BBoxHead::Predictions DoubleConvFCBBoxHead::forward(const Variable& cls_feats,
                                                    const Variable& reg_feats) const {
  Variable x_conv = res_block_->forward(reg_feats);
  for (const Bottleneck* block : *conv_branch_) x_conv = block->forward(x_conv);
  const ModuleScope scope(path());
  Variable x_fc = cls_feats;
  for (const Linear* fc : *fc_branch_) x_fc = relu(fc->forward(x_fc));
  return predict(x_fc, pool_if_asked(x_conv));
}

OSPREY_REGISTER(BBoxHead, DoubleConvFCBBoxHead);

}  // namespace osprey
