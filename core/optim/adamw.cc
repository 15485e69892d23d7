#include "core/optim/adam_base.h"

namespace osprey {
namespace {

// torch.optim.AdamW: the weight decay shrinks the weight itself.
class AdamW final : public AdamBase {
 public:
  explicit AdamW(const ConfigNode& cfg)
      : AdamBase(cfg, /*default_weight_decay=*/1e-2, /*decoupled_decay=*/true) {}
};

OSPREY_REGISTER_OPTIMIZER(AdamW);

}  // namespace
}  // namespace osprey
