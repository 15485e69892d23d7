#include "core/runner/runner.h"

namespace osprey {
namespace {

// mmcv seeds the sampler of each epoch with this hook. Here a batch follows from (seed, epoch, index) by
// itself, so the hook only lets configs that list it build.
class DistSamplerSeedHook final : public Hook {
 public:
  explicit DistSamplerSeedHook(const ConfigNode&) {}
};

OSPREY_REGISTER_HOOK(DistSamplerSeedHook);

}  // namespace
}  // namespace osprey
