#include "core/runner/hook.h"
#include "core/runner/over_ranks.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

// mmcv's: at the end of an epoch the buffers (BatchNorm's statistics) of all ranks become their mean. Key:
// distributed (true).
class SyncBuffersHook final : public Hook {
 public:
  explicit SyncBuffersHook(const ConfigNode& cfg) : active_(cfg.get("distributed", true)) {}
  void after_epoch(Runner& runner) override {
    if (active_) average_buffers(runner.model());
  }

 private:
  bool active_;
};

OSPREY_REGISTER_HOOK(SyncBuffersHook);

}  // namespace
}  // namespace osprey
