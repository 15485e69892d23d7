#include "core/data/pipelines/transform.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Transform, "pipeline transform");

Samples Transform::expand(Sample sample, CounterRng& rng) const {
  Samples samples;
  if (apply(sample, rng)) samples.push_back(std::move(sample));
  return samples;
}

void Transform::check_keys(SampleKeys& keys, const ConfigNode& cfg) const {
  if (!keys.count("img")) cfg.fail("needs an image: LoadImageFromFile must come first");
}

Pipeline::Pipeline(const ConfigNode& cfg) {
  if (!cfg.is_list()) cfg.fail("must be a list of transforms, e.g. [{type: LoadImageFromFile}, ...]");
  for (const ConfigNode& item : cfg.items()) steps_.push_back({item, build<Transform>(item)});
}

Samples Pipeline::run(Sample sample, CounterRng& rng) const {
  Samples samples;
  samples.push_back(std::move(sample));
  for (const Step& step : steps_) {
    Samples outs;
    for (Sample& each : samples) {
      for (Sample& out : step.transform->expand(std::move(each), rng)) outs.push_back(std::move(out));
    }
    samples = std::move(outs);
  }
  return samples;
}

void Pipeline::check_keys(SampleKeys& keys) const {
  for (const Step& step : steps_) step.transform->check_keys(keys, step.cfg);
}

}  // namespace osprey
