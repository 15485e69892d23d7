#pragma once

#include "core/nn/conv_module.h"
#include "models/roi_heads/bbox_heads/bbox_head.h"

namespace osprey {

//                             /-> cls convs -> cls fcs -> fc_cls
//   shared convs -> shared fcs
//                             \-> reg convs -> reg fcs -> fc_reg
//
// Keys of BBoxHead, and num_shared_convs, num_shared_fcs, num_cls_convs, num_cls_fcs, num_reg_convs,
// num_reg_fcs (all 0), conv_out_channels (256), fc_out_channels (1024), conv_cfg, norm_cfg.
class ConvFCBBoxHead : public BBoxHead {
 public:
  explicit ConvFCBBoxHead(const ConfigNode& cfg) : ConvFCBBoxHead(cfg, Counts::from(cfg)) {}
  Predictions forward(const Variable& roi_feats) const override;
  void init_weights(uint64_t seed) override;

 protected:
  struct Counts {  // of layers
    int64_t shared_convs = 0, shared_fcs = 0, cls_convs = 0, cls_fcs = 0, reg_convs = 0, reg_fcs = 0;
    static Counts from(const ConfigNode& cfg);
  };
  ConvFCBBoxHead(const ConfigNode& cfg, const Counts& counts);

 private:
  struct Plan;
  // Convolutions on the map, then linear layers on what is left of it.
  struct Branch {
    ModuleList<ConvModule>* convs;
    ModuleList<Linear>* fcs;
  };
  ConvFCBBoxHead(const ConfigNode& cfg, const Plan& plan);
  Branch add_branch(const std::string& name, int64_t num_convs, int64_t num_fcs, Shape in, const Plan& plan);
  Variable run(const Branch& branch, Variable x) const;

  Branch shared_, cls_, reg_;
};

}  // namespace osprey
