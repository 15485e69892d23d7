#include "core/optim/adam_base.h"

namespace osprey {
namespace {

// torch.optim.Adam: the weight decay is an L2 term of the gradient.
class Adam final : public AdamBase {
 public:
  explicit Adam(const ConfigNode& cfg)
      : AdamBase(cfg, /*default_weight_decay=*/0, /*decoupled_decay=*/false) {}
};

OSPREY_REGISTER_OPTIMIZER(Adam);

}  // namespace
}  // namespace osprey
