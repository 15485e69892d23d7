#pragma once

#include "core/nn/conv_module.h"
#include "models/necks/neck.h"

namespace osprey {

// Lin et al., "Feature Pyramid Networks for Object Detection", Fig. 3. Keys as in mmdetection:
//   in_channels (a list), out_channels, num_outs; start_level, end_level (-1 = all);
//   add_extra_convs: false (levels beyond the backbone's are subsampled: P6 of RPN) | on_input | on_lateral |
//     on_output (they are strided convolutions: P6, P7 of RetinaNet) | true (on_input);
//   extra_convs_on_inputs (with true), relu_before_extra_convs, no_norm_on_lateral;
//   conv_cfg, norm_cfg, act_cfg (none), upsample_cfg {mode: nearest | bilinear, scale_factor}.
class FPN : public Neck {
 public:
  explicit FPN(const ConfigNode& cfg);
  // Returns num_outs maps of out_channels.
  Variables forward(const Variables& feats) const override;
  void init_weights(uint64_t seed) override;

 protected:
  int64_t out_channels() const { return out_channels_; }
  size_t num_ins() const { return in_channels_.size(); }
  size_t num_outs() const { return num_outs_; }
  size_t num_laterals() const { return lateral_convs_->size(); }
  // What follows the 3x3 convolutions, ahead of the extra levels; nothing here.
  virtual Variables bottom_up(Variables outs) const { return outs; }

 private:
  enum class ExtraLevels { kMaxPool, kOnInput, kOnLateral, kOnOutput };

  void read_levels(const ConfigNode& cfg);
  void read_extra_levels(const ConfigNode& cfg);
  void read_upsample(const ConfigNode& cfg);
  void add_convs(const ConfigNode& cfg);
  Variable upsample(const Variable& x, const Variable& like) const;
  void append_extra_levels(const Variable& input, const Variable& lateral, Variables& outs) const;

  std::vector<int64_t> in_channels_;
  int64_t out_channels_;
  size_t num_outs_, start_level_, end_level_;  // backbone levels [start_level, end_level)
  ExtraLevels extra_levels_ = ExtraLevels::kMaxPool;
  bool relu_before_extra_convs_;
  bool bilinear_ = false, align_corners_ = false;
  int64_t scale_factor_ = 0;  // 0 = to the exact size of the finer map
  ModuleList<ConvModule>*lateral_convs_, *fpn_convs_;
};

}  // namespace osprey
