#include "core/runner/hook.h"

namespace osprey {
namespace {

// mmcv averages the buffers of all processes (BatchNorm's statistics) at the end of an epoch. A single
// process has nothing to average; configs that name the hook work unchanged. Key: distributed (true).
class SyncBuffersHook final : public Hook {
 public:
  explicit SyncBuffersHook(const ConfigNode& cfg) { cfg.get("distributed", true); }
};

OSPREY_REGISTER_HOOK(SyncBuffersHook);

}  // namespace
}  // namespace osprey
