#include "core/parallel/communicator.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

// mmcv's hook gives the sampler of each epoch its seed. Here the order of an epoch follows from (seed, epoch)
// by itself; what is left to do is to see that all ranks draw their shares from the same one.
class DistSamplerSeedHook final : public Hook {
 public:
  explicit DistSamplerSeedHook(const ConfigNode&) {}
  void before_epoch(Runner& runner) override {
    const std::string order =
        str_cat("seed ", runner.seed(), ", epoch ", runner.epoch(), ", ", runner.epoch_length(), " batches");
    std::string main_order = order;
    world().broadcast(main_order);
    const bool differs = order != main_order;
    if (!world().any(differs)) return;
    throw Error(differs ? str_cat("this rank would draw its images from another order than rank 0: ", order,
                                  " against ", main_order)
                        : std::string("another rank would draw its images from another order than rank 0"));
  }
};

OSPREY_REGISTER_HOOK(DistSamplerSeedHook);

}  // namespace
}  // namespace osprey
