#include "core/nn/norm_layer.h"

#include "core/nn/batch_norm2d.h"
#include "core/nn/group_norm.h"
#include "core/nn/init.h"
#include "core/ops/elementwise.h"

namespace osprey {

NormLayer::NormLayer(int64_t num_features)
    : weight_(add_parameter("weight", Tensor::full({num_features}, 1, DType::kF32))),
      bias_(add_parameter("bias", Tensor::zeros({num_features}, DType::kF32))) {}

void NormLayer::init_weights(uint64_t) {
  fill_constant(*weight_, 1);
  fill_constant(*bias_, 0);
}

Variable NormLayer::forward_relu(const Variable& x, const Variable& residual) const {
  const Variable normalised = forward(x);
  const ModuleScope scope(path());
  return residual.defined() ? add_relu(normalised, cast(residual, normalised.dtype())) : relu(normalised);
}

NamedNorm build_norm_layer(const ConfigNode& norm_cfg, int64_t num_features, const std::string& postfix) {
  const std::string type = norm_cfg.choice("type", "BN", {"BN", "BN2d", "SyncBN", "GN"});
  NamedNorm norm;
  if (type == "GN") {
    norm.name = "gn" + postfix;
    norm.layer = std::make_unique<GroupNorm>(norm_cfg, num_features);
  } else {
    norm.name = "bn" + postfix;
    norm.layer = std::make_unique<BatchNorm2d>(norm_cfg, num_features, type == "SyncBN");
  }
  norm.layer->set_requires_grad(norm_cfg.get("requires_grad", true));
  return norm;
}

}  // namespace osprey
