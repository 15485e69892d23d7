#include "models/necks/fpn.h"

#include "core/nn/init.h"
#include "core/ops/elementwise.h"
#include "core/ops/interpolate.h"
#include "core/ops/pool2d.h"

namespace osprey {

FPN::FPN(const ConfigNode& cfg)
    : in_channels_(cfg.get<std::vector<int64_t>>("in_channels", positive())),
      out_channels_(cfg.get<int64_t>("out_channels", positive())),
      relu_before_extra_convs_(cfg.get("relu_before_extra_convs", false)) {
  read_levels(cfg);
  read_upsample(cfg);
  lateral_convs_ = add_child("lateral_convs", std::make_unique<ModuleList<ConvModule>>());
  fpn_convs_ = add_child("fpn_convs", std::make_unique<ModuleList<ConvModule>>());
  add_convs(cfg);
}

void FPN::read_levels(const ConfigNode& cfg) {
  const int64_t num_ins = static_cast<int64_t>(in_channels_.size());
  const int64_t num_outs = cfg.get<int64_t>("num_outs", positive());
  const int64_t start = cfg.get("start_level", int64_t{0});
  const int64_t end = cfg.get("end_level", int64_t{-1});
  if (start < 0 || start >= num_ins) {
    cfg["start_level"].fail(str_cat("start_level must be in 0..", num_ins - 1, ", got ", start));
  }
  if (end != -1 && (end <= start || end > num_ins || num_outs != end - start)) {
    cfg["end_level"].fail(str_cat("end_level ", end, " must be -1, or at most ", num_ins,
                                  " with num_outs = end_level - start_level; num_outs is ", num_outs));
  }
  if (end == -1 && num_outs < num_ins - start) {
    cfg["num_outs"].fail(
        str_cat("num_outs ", num_outs, " is less than the ", num_ins - start, " input levels"));
  }
  start_level_ = static_cast<size_t>(start);
  end_level_ = static_cast<size_t>(end == -1 ? num_ins : end);
  num_outs_ = static_cast<size_t>(num_outs);

  read_extra_levels(cfg);
}

void FPN::read_extra_levels(const ConfigNode& cfg) {
  const bool on_inputs = cfg.get("extra_convs_on_inputs", true);
  const ConfigNode extra = cfg.find("add_extra_convs");
  if (extra.is_null()) return;
  if (extra.is<bool>()) {
    if (extra.as<bool>()) extra_levels_ = on_inputs ? ExtraLevels::kOnInput : ExtraLevels::kOnOutput;
    return;
  }
  const std::string source = cfg.choice("add_extra_convs", "", {"on_input", "on_lateral", "on_output"});
  extra_levels_ = source == "on_input"     ? ExtraLevels::kOnInput
                  : source == "on_lateral" ? ExtraLevels::kOnLateral
                                           : ExtraLevels::kOnOutput;
}

void FPN::read_upsample(const ConfigNode& cfg) {
  const ConfigNode upsample_cfg = cfg.find("upsample_cfg");
  if (upsample_cfg.is_null()) return;
  bilinear_ = upsample_cfg.choice("mode", "nearest", {"nearest", "bilinear"}) == "bilinear";
  align_corners_ = upsample_cfg.get("align_corners", false);
  scale_factor_ = upsample_cfg.get("scale_factor", int64_t{0}, non_negative());
}

void FPN::add_convs(const ConfigNode& cfg) {
  const ConvModuleCfg conv = ConvModuleCfg::from(cfg, Activation::kNone);
  ConvModuleCfg lateral = conv;
  if (cfg.get("no_norm_on_lateral", false)) lateral.norm_cfg = ConfigNode();
  for (size_t i = start_level_; i < end_level_; ++i) {
    lateral_convs_->append(
        std::make_unique<ConvModule>(in_channels_[i], out_channels_, 1, Conv2dParams(), lateral));
    fpn_convs_->append(
        std::make_unique<ConvModule>(out_channels_, out_channels_, 3, Conv2dParams::square(1, 1), conv));
  }
  if (extra_levels_ == ExtraLevels::kMaxPool) return;
  for (size_t i = fpn_convs_->size(); i < num_outs_; ++i) {
    const bool reads_input = extra_levels_ == ExtraLevels::kOnInput && i == lateral_convs_->size();
    const int64_t channels = reads_input ? in_channels_[end_level_ - 1] : out_channels_;
    fpn_convs_->append(
        std::make_unique<ConvModule>(channels, out_channels_, 3, Conv2dParams::square(2, 1), conv));
  }
}

void FPN::init_weights(uint64_t seed) {
  Module::init_weights(seed);
  for (ModuleList<ConvModule>* convs : {lateral_convs_, fpn_convs_}) {
    for (ConvModule* conv : *convs) xavier_init(conv->conv(), seed, Distribution::kUniform);
  }
}

Variables FPN::forward(const Variables& feats) const {
  OSPREY_REQUIRE(feats.size() == in_channels_.size(), "FPN: in_channels names ", in_channels_.size(),
                 " maps, the backbone gives ", feats.size());
  Variables laterals;  // 1x1
  for (size_t i = 0; i < lateral_convs_->size(); ++i) {
    laterals.push_back((*lateral_convs_)[i].forward(feats[start_level_ + i]));
  }
  const ModuleScope scope(path());
  for (size_t i = laterals.size() - 1; i > 0; --i) {  // top-down path
    const Variable coarse = cast(laterals[i], laterals[i - 1].dtype());
    laterals[i - 1] = laterals[i - 1] + upsample(coarse, laterals[i - 1]);
  }
  Variables outs;  // 3x3, against upsampling aliasing
  for (size_t i = 0; i < laterals.size(); ++i) outs.push_back((*fpn_convs_)[i].forward(laterals[i]));
  outs = bottom_up(std::move(outs));
  append_extra_levels(feats[end_level_ - 1], laterals.back(), outs);
  return outs;
}

Variable FPN::upsample(const Variable& x, const Variable& like) const {
  const int64_t h = scale_factor_ ? x.dim(1) * scale_factor_ : like.dim(1);
  const int64_t w = scale_factor_ ? x.dim(2) * scale_factor_ : like.dim(2);
  return bilinear_ ? upsample_bilinear(x, h, w, align_corners_) : upsample_nearest(x, h, w);
}

void FPN::append_extra_levels(const Variable& input, const Variable& lateral, Variables& outs) const {
  if (outs.size() == num_outs_) return;
  if (extra_levels_ == ExtraLevels::kMaxPool) {
    while (outs.size() < num_outs_) outs.push_back(max_pool2d(outs.back(), {.kernel = 1, .stride = 2}));
    return;
  }
  const Variable source = extra_levels_ == ExtraLevels::kOnInput     ? input
                          : extra_levels_ == ExtraLevels::kOnLateral ? lateral
                                                                     : outs.back();
  outs.push_back((*fpn_convs_)[outs.size()].forward(source));
  while (outs.size() < num_outs_) {
    const Variable& last = outs.back();
    outs.push_back((*fpn_convs_)[outs.size()].forward(relu_before_extra_convs_ ? relu(last) : last));
  }
}

OSPREY_REGISTER(Neck, FPN);

}  // namespace osprey
