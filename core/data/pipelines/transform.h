#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/data/sample.h"
#include "core/registry/registry.h"

namespace osprey {

// The keys of a sample ("img", "gt_bboxes", ...) that exist at one point of a pipeline.
using SampleKeys = std::set<std::string>;

// One step of a data pipeline. Stateless after construction: many workers call it at once, and all randomness
// comes from the generator that is handed in.
class Transform {
 public:
  virtual ~Transform() = default;
  // Works in place; false rejects the sample, and the loader takes another one. Throws SampleError for a
  // sample that cannot be used.
  virtual bool apply(Sample& sample, CounterRng& rng) const = 0;
  // Test-time augmentation overrides this to make several samples of one. Empty when rejected.
  virtual Samples expand(Sample sample, CounterRng& rng) const;
  // Adds the keys that this transform produces and checks those that it needs, so that a pipeline that cannot
  // work is refused when it is built. The default needs "img". Throws UserError through `cfg`, the
  // transform's own config.
  virtual void check_keys(SampleKeys& keys, const ConfigNode& cfg) const;
};

OSPREY_DECLARE_REGISTRY(Transform);

// A list of transforms, applied in order (mmdetection's Compose).
class Pipeline {
 public:
  Pipeline() = default;
  // Requires: `cfg` is a list of transforms.
  explicit Pipeline(const ConfigNode& cfg);
  Samples run(Sample sample, CounterRng& rng) const;
  // `keys`: what exists ahead of the pipeline; afterwards, what exists behind it.
  void check_keys(SampleKeys& keys) const;

 private:
  struct Step {
    ConfigNode cfg;
    std::unique_ptr<Transform> transform;
  };
  std::vector<Step> steps_;
};

}  // namespace osprey
