#include "core/optim/param_groups.h"

#include <algorithm>

namespace osprey {
namespace {

struct Multipliers {
  double lr = 1;
  double decay = 1;
};

struct CustomKey {
  std::string pattern;
  Multipliers multipliers;
};

struct ParamwiseRules {
  std::vector<CustomKey> custom_keys;  // longest first
  double bias_lr, bias_decay, norm_decay, dwconv_decay, dcn_offset_lr;

  explicit ParamwiseRules(const ConfigNode& cfg)
      : bias_lr(cfg.get("bias_lr_mult", 1.0, non_negative())),
        bias_decay(cfg.get("bias_decay_mult", 1.0, non_negative())),
        norm_decay(cfg.get("norm_decay_mult", 1.0, non_negative())),
        dwconv_decay(cfg.get("dwconv_decay_mult", 1.0, non_negative())),
        dcn_offset_lr(cfg.get("dcn_offset_lr_mult", 1.0, non_negative())) {
    cfg.get("bypass_duplicate", false);  // a parameter has one owner here: there are no duplicates
    const ConfigNode custom = cfg.find("custom_keys");
    if (custom.is_null()) return;
    for (const std::string& pattern : custom.keys()) {
      const ConfigNode rule = custom[pattern];
      custom_keys.push_back(
          {pattern, {rule.get("lr_mult", 1.0, non_negative()), rule.get("decay_mult", 1.0, non_negative())}});
    }
    std::sort(custom_keys.begin(), custom_keys.end(), [](const CustomKey& a, const CustomKey& b) {
      return a.pattern.size() != b.pattern.size() ? a.pattern.size() > b.pattern.size()
                                                  : a.pattern < b.pattern;
    });
  }
};

// What the rules distinguish. Norm layers are the modules whose `weight` is a vector; a depthwise
// convolution's weight has one input channel; the convolution that predicts DCN offsets is called
// conv_offset.
struct ParameterKind {
  bool bias, norm, depthwise, dcn_offset;
};

ParameterKind kind_of(const MasterParameter& param, const std::vector<MasterParameter*>& all) {
  const size_t dot = param.name.rfind('.');
  const std::string module = dot == std::string::npos ? "" : param.name.substr(0, dot + 1);
  const MasterParameter* weight = &param;
  for (const MasterParameter* other : all) {
    if (other->name == module + "weight") weight = other;
  }
  const bool conv = weight->layout.kind == WeightLayout::kConv;
  return {param.name.substr(module.size()) == "bias", weight->value.rank() == 1,
          conv && weight->value.dim(3) == 1, module.find("conv_offset") != std::string::npos};
}

Multipliers multipliers_for(const MasterParameter& param, const std::vector<MasterParameter*>& all,
                            const ParamwiseRules& rules) {
  for (const CustomKey& key : rules.custom_keys) {
    if (param.name.find(key.pattern) != std::string::npos) return key.multipliers;
  }
  const ParameterKind kind = kind_of(param, all);
  Multipliers m;
  if (kind.bias && !kind.norm && !kind.dcn_offset) m.lr = rules.bias_lr;
  if (kind.dcn_offset) m.lr = rules.dcn_offset_lr;
  if (kind.norm) {
    m.decay = rules.norm_decay;
  } else if (kind.depthwise) {
    m.decay = rules.dwconv_decay;
  } else if (kind.bias && !kind.dcn_offset) {
    m.decay = rules.bias_decay;
  }
  return m;
}

}  // namespace

std::vector<ParamGroup> build_param_groups(const ConfigNode& optimizer_cfg, const Optimizer& optimizer,
                                           const std::vector<MasterParameter*>& params) {
  const ConfigNode paramwise = optimizer_cfg.find("paramwise_cfg");
  const double lr = optimizer.base_lr(), decay = optimizer.base_weight_decay();
  std::vector<ParamGroup> groups;
  if (paramwise.is_null()) {
    groups.push_back({lr, lr, decay, params});
    return groups;
  }
  const ParamwiseRules rules(paramwise);
  for (MasterParameter* param : params) {
    const Multipliers m = multipliers_for(*param, params, rules);
    groups.push_back({lr * m.lr, lr * m.lr, decay * m.decay, {param}});
  }
  return groups;
}

}  // namespace osprey
