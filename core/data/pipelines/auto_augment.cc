#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// Runs one of several lists of transforms, drawn evenly for each image (Cubuk et al., "AutoAugment", 2019).
// Key: policies, e.g. [[{type: Shear, level: 4, prob: 0.6}, {type: Rotate, level: 3}], [{type:
// ColorTransform, level: 4}]].
class AutoAugment final : public Transform {
 public:
  explicit AutoAugment(const ConfigNode& cfg) {
    const ConfigNode policies = cfg["policies"];
    if (!policies.is_list() || policies.size() == 0)
      policies.fail("must be a list of lists of transforms, one at least");
    for (const ConfigNode& policy : policies.items()) policies_.emplace_back(policy);
  }

  bool apply(Sample&, CounterRng&) const override {
    throw Error("AutoAugment may make several samples of one: call expand()");
  }

  Samples expand(Sample sample, CounterRng& rng) const override {
    return policies_[rng.randint(static_cast<int64_t>(policies_.size()))].run(std::move(sample), rng);
  }

  // What comes after it can rely on what every policy leaves: transforms add keys, none takes one away.
  void check_keys(SampleKeys& keys, const ConfigNode&) const override {
    const SampleKeys before = keys;
    for (const Pipeline& policy : policies_) {
      SampleKeys after = before;
      policy.check_keys(after);
      if (&policy == &policies_.front()) keys = after;
      std::erase_if(keys, [&](const std::string& key) { return !after.count(key); });
    }
  }

 private:
  std::vector<Pipeline> policies_;
};

}  // namespace

OSPREY_REGISTER(Transform, AutoAugment);

}  // namespace osprey
