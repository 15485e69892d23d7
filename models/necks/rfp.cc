#include "models/necks/rfp.h"

#include <algorithm>

#include "core/base/logging.h"
#include "core/nn/init.h"
#include "core/ops/broadcast.h"
#include "core/ops/channel_ops.h"
#include "core/ops/elementwise.h"

namespace osprey {
namespace {

std::vector<int64_t> read_dilations(const ConfigNode& cfg) {
  const auto dilations = cfg.get("aspp_dilations", std::vector<int64_t>{1, 3, 6, 1}, positive());
  if (dilations.size() < 2 || dilations.back() != 1) {
    cfg["aspp_dilations"].fail("needs two positive numbers or more, the last of them 1");
  }
  return dilations;
}

std::unique_ptr<DetectoRS_ResNet> build_backbone(const ConfigNode& cfg, int64_t inplanes) {
  const int64_t given = cfg.get<int64_t>("rfp_inplanes");
  if (given != inplanes) {
    cfg["rfp_inplanes"].fail(str_cat(
        given, " is not what comes back: aspp_out_channels times the number of aspp_dilations, ", inplanes));
  }
  std::unique_ptr<Backbone> backbone = build<Backbone>(cfg);
  auto* recursive = dynamic_cast<DetectoRS_ResNet*>(backbone.get());
  if (!recursive) cfg["type"].fail("must be DetectoRS_ResNet or DetectoRS_ResNeXt");
  backbone.release();
  return std::unique_ptr<DetectoRS_ResNet>(recursive);
}

}  // namespace

ASPP::ASPP(int64_t in_channels, int64_t out_channels, const std::vector<int64_t>& dilations)
    : aspp_(add_child("aspp", std::make_unique<ModuleList<Conv2d>>())) {
  for (const int64_t dilation : dilations) {
    const int64_t kernel = dilation > 1 ? 3 : 1, padding = dilation > 1 ? dilation : 0;
    aspp_->append(std::make_unique<Conv2d>(in_channels, out_channels, kernel,
                                           Conv2dParams::square(1, padding, dilation)));
  }
}

void ASPP::init_weights(uint64_t seed) {
  for (Conv2d* conv : *aspp_) kaiming_init(*conv, seed);
}

Variable ASPP::forward(const Variable& x) const {
  const ModuleScope scope(path());
  Variables parts;
  for (size_t i = 0; i < aspp_->size(); ++i) {
    const bool last = i + 1 == aspp_->size();
    parts.push_back(relu((*aspp_)[i].forward(last ? image_mean(x) : x)));
  }
  // The same everywhere: added to nothing.
  Variable& everywhere = parts.back();
  everywhere = add_per_image(Tensor::zeros_like(parts[0].value()), everywhere);
  return concat_channels(parts);
}

RFP::RFP(const ConfigNode& cfg)
    : FPN(cfg),
      pretrained_(cfg["rfp_backbone"].find("pretrained"), cfg["rfp_backbone"].find("init_cfg")),
      stages_(static_cast<size_t>(cfg["rfp_backbone"].get("num_stages", int64_t{4}, positive()))),
      rfp_modules_(add_child("rfp_modules", std::make_unique<ModuleList<DetectoRS_ResNet>>())) {
  const int64_t aspp_out_channels = cfg.get<int64_t>("aspp_out_channels", positive());
  const std::vector<int64_t> dilations = read_dilations(cfg);
  const int64_t inplanes = aspp_out_channels * static_cast<int64_t>(dilations.size());
  const int64_t rfp_steps = cfg.get("rfp_steps", int64_t{2}, positive());
  if (num_outs() < stages_) {
    cfg["num_outs"].fail(
        str_cat("the ", stages_, " stages of rfp_backbone take a map each, got ", num_outs()));
  }
  for (int64_t i = 1; i < rfp_steps; ++i) {
    rfp_modules_->append(build_backbone(cfg["rfp_backbone"], inplanes));
  }
  rfp_aspp_ = add_child("rfp_aspp", std::make_unique<ASPP>(out_channels(), aspp_out_channels, dilations));
  rfp_weight_ = add_child("rfp_weight", std::make_unique<Conv2d>(out_channels(), 1, 1));
}

void RFP::init_weights(uint64_t seed) {
  FPN::init_weights(seed);
  constant_init(*rfp_weight_, 0);
  for (DetectoRS_ResNet* backbone : *rfp_modules_) {
    pretrained_.load_into(*backbone);
    const std::string lint = pretrained_.given() ? "" : lint_frozen_at_random(*backbone);
    if (!lint.empty()) log_warning(backbone->path() + ": " + lint);
  }
}

Variables RFP::forward(const Variables& feats) const {
  if (feats.size() != num_ins() + 1) {
    throw UserError(str_cat("RFP takes the image and ", num_ins(), " maps, the backbone gives ", feats.size(),
                            " in all; set backbone.output_img: true and give in_channels for each map"));
  }
  const Variable& img = feats[0];
  Variables pyramid = FPN::forward(Variables(feats.begin() + 1, feats.end()));
  for (const DetectoRS_ResNet* backbone : *rfp_modules_) pyramid = look_again(*backbone, img, pyramid);
  return pyramid;
}

Variables RFP::look_again(const DetectoRS_ResNet& backbone, const Variable& img,
                          const Variables& pyramid) const {
  Variables rfp_feats{pyramid[0]};  // the first stage is not fed
  for (size_t i = 1; i < stages_; ++i) rfp_feats.push_back(rfp_aspp_->forward(pyramid[i]));
  Variables mixed;
  for (const Variable& seen : FPN::forward(backbone.rfp_forward(img, rfp_feats))) {
    const ModuleScope scope(path());
    const Variable gate = sigmoid(rfp_weight_->forward(seen));
    mixed.push_back(blend(seen, pyramid[mixed.size()], cast(gate, seen.dtype())));
  }
  return mixed;
}

OSPREY_REGISTER(Neck, RFP);

}  // namespace osprey
