#include "models/roi_heads/bbox_heads/convfc_bbox_head.h"

#include "core/nn/init.h"
#include "core/ops/elementwise.h"

namespace osprey {

ConvFCBBoxHead::Counts ConvFCBBoxHead::Counts::from(const ConfigNode& cfg) {
  const auto count = [&](const char* key) { return cfg.get(key, int64_t{0}, non_negative()); };
  return {count("num_shared_convs"), count("num_shared_fcs"), count("num_cls_convs"),
          count("num_cls_fcs"),      count("num_reg_convs"),  count("num_reg_fcs")};
}

// Follows the shape of one RoI's feature through the branches: (h, w, c) up to the first linear layer, then
// (features).
struct ConvFCBBoxHead::Plan {
  Counts counts;
  int64_t conv_out_channels, fc_out_channels;
  bool with_avg_pool;
  ConvModuleCfg conv;
  Shape roi_feat;  // of the whole head

  Plan(const ConfigNode& cfg, const Counts& counts)
      : counts(counts),
        conv_out_channels(cfg.get("conv_out_channels", int64_t{256}, positive())),
        fc_out_channels(cfg.get("fc_out_channels", int64_t{1024}, positive())),
        with_avg_pool(cfg.get("with_avg_pool", false)),
        conv(ConvModuleCfg::from(cfg)) {
    const int64_t size = cfg.get("roi_feat_size", int64_t{7}, positive());
    roi_feat = {size, size, cfg.get("in_channels", int64_t{256}, positive())};
    if (counts.shared_fcs > 0 && (counts.cls_convs > 0 || counts.reg_convs > 0)) {
      cfg.fail(
          "convolutions cannot follow linear layers: with num_shared_fcs > 0, num_cls_convs and "
          "num_reg_convs must be 0");
    }
  }

  Shape after_convs(Shape in, int64_t num_convs) const {
    if (num_convs > 0) in[2] = conv_out_channels;
    return in;
  }
  // What the first linear layer behind a map sees.
  Shape flattened(const Shape& in) const { return with_avg_pool && in.size() == 3 ? Shape{1, 1, in[2]} : in; }
  Shape after(const Shape& in, int64_t num_convs, int64_t num_fcs) const {
    return num_fcs > 0 ? Shape{fc_out_channels} : after_convs(in, num_convs);
  }
  Shape shared_out() const { return after(roi_feat, counts.shared_convs, counts.shared_fcs); }
  Shape cls_out() const { return flattened(after(shared_out(), counts.cls_convs, counts.cls_fcs)); }
  Shape reg_out() const { return flattened(after(shared_out(), counts.reg_convs, counts.reg_fcs)); }
};

ConvFCBBoxHead::ConvFCBBoxHead(const ConfigNode& cfg, const Counts& counts)
    : ConvFCBBoxHead(cfg, Plan(cfg, counts)) {}

ConvFCBBoxHead::ConvFCBBoxHead(const ConfigNode& cfg, const Plan& plan)
    : BBoxHead(cfg, plan.cls_out(), plan.reg_out()) {
  const Counts& counts = plan.counts;
  shared_ = add_branch("shared", counts.shared_convs, counts.shared_fcs, plan.roi_feat, plan);
  cls_ = add_branch("cls", counts.cls_convs, counts.cls_fcs, plan.shared_out(), plan);
  reg_ = add_branch("reg", counts.reg_convs, counts.reg_fcs, plan.shared_out(), plan);
}

ConvFCBBoxHead::Branch ConvFCBBoxHead::add_branch(const std::string& name, int64_t num_convs, int64_t num_fcs,
                                                  Shape in, const Plan& plan) {
  Branch branch{add_child(name + "_convs", std::make_unique<ModuleList<ConvModule>>()),
                add_child(name + "_fcs", std::make_unique<ModuleList<Linear>>())};
  for (int64_t i = 0; i < num_convs; ++i) {
    branch.convs->append(std::make_unique<ConvModule>(in[2], plan.conv_out_channels, 3,
                                                      Conv2dParams::square(1, 1), plan.conv));
    in[2] = plan.conv_out_channels;
  }
  in = plan.flattened(in);
  for (int64_t i = 0; i < num_fcs; ++i) {
    branch.fcs->append(in.size() == 3 ? std::make_unique<Linear>(in, plan.fc_out_channels)
                                      : std::make_unique<Linear>(in[0], plan.fc_out_channels));
    in = {plan.fc_out_channels};
  }
  return branch;
}

void ConvFCBBoxHead::init_weights(uint64_t seed) {
  BBoxHead::init_weights(seed);
  for (const Branch* branch : {&shared_, &cls_, &reg_}) {
    for (Linear* fc : *branch->fcs) xavier_init(*fc, seed, Distribution::kUniform);
  }
}

Variable ConvFCBBoxHead::run(const Branch& branch, Variable x) const {
  x = forward_through(*branch.convs, x);
  if (!branch.fcs->empty() && x.shape().size() == 4) x = pool_if_asked(x);
  for (const Linear* fc : *branch.fcs) x = relu(fc->forward(x));
  return x;
}

BBoxHead::Predictions ConvFCBBoxHead::forward(const Variable& roi_feats) const {
  const ModuleScope scope(path());
  const Variable shared = run(shared_, roi_feats);
  Variable cls_feat = run(cls_, shared);
  Variable reg_feat = run(reg_, shared);
  if (cls_feat.shape().size() == 4) cls_feat = pool_if_asked(cls_feat);
  if (reg_feat.shape().size() == 4) reg_feat = pool_if_asked(reg_feat);
  return predict(cls_feat, reg_feat);
}

OSPREY_REGISTER(BBoxHead, ConvFCBBoxHead);

}  // namespace osprey
