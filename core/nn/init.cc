#include "core/nn/init.h"

#include <cmath>

#include "core/nn/derived_state.h"

namespace osprey {
namespace {

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001B3ull;
  return hash;
}

template <typename Draw>
void fill(Parameter& parameter, const Draw& draw) {
  Tensor& value = parameter.variable.mutable_value();
  Tensor drawn(value.shape(), DType::kF32);
  float* out = drawn.mutable_data<float>();
  for (int64_t i = 0; i < drawn.numel(); ++i) out[i] = static_cast<float>(draw());
  value.copy_from(drawn.to(value.device()));
}

// After layer's weight and bias have been set from outside.
void finish(WeightLayer& layer) {
  if (layer.bias()) fill_constant(*layer.bias(), 0);
  if (auto* follower = dynamic_cast<FollowsWeight*>(&layer)) follower->weight_drawn();
}

void fill_scaled(WeightLayer& layer, uint64_t seed, Distribution distribution, double std) {
  const CounterRng rng = parameter_rng(seed, layer.path() + ".weight");
  if (distribution == Distribution::kNormal) {
    fill_normal(layer.weight(), rng, std);
  } else {
    fill_uniform(layer.weight(), rng, std::sqrt(3.0) * std);  // a uniform of this bound has deviation std
  }
  finish(layer);
}

}  // namespace

CounterRng parameter_rng(uint64_t seed, const std::string& path) { return CounterRng(seed, fnv1a(path)); }

Fans fans_of(const Parameter& weight) {
  const Shape& s = weight.variable.shape();
  switch (weight.layout.kind) {
    case WeightLayout::kConv:
      return {s[1] * s[2] * s[3], s[0] * s[1] * s[2]};
    case WeightLayout::kDeconv:  // torch reads (in, out, kh, kw) as if it were (out, in, kh, kw)
      return {s[1] * s[2] * s[3], s[0] * s[1] * s[2]};
    default:
      return {s[1], s[0]};
  }
}

void fill_constant(Parameter& parameter, double value) { parameter.variable.mutable_value().fill(value); }

void fill_uniform(Parameter& parameter, CounterRng rng, double bound) {
  fill(parameter, [&] { return rng.uniform(-bound, bound); });
}

void fill_normal(Parameter& parameter, CounterRng rng, double std) {
  fill(parameter, [&] { return std * rng.normal(); });
}

void constant_init(WeightLayer& layer, double value) {
  fill_constant(layer.weight(), value);
  finish(layer);
}

void normal_init(WeightLayer& layer, uint64_t seed, double std) {
  fill_scaled(layer, seed, Distribution::kNormal, std);
}

void xavier_init(WeightLayer& layer, uint64_t seed, Distribution distribution) {
  const Fans fans = fans_of(layer.weight());
  fill_scaled(layer, seed, distribution, std::sqrt(2.0 / static_cast<double>(fans.in + fans.out)));
}

void kaiming_init(WeightLayer& layer, uint64_t seed, const KaimingOptions& options) {
  const Fans fans = fans_of(layer.weight());
  const double fan = static_cast<double>(options.mode == FanMode::kFanIn ? fans.in : fans.out);
  fill_scaled(layer, seed, options.distribution, std::sqrt(2 / (1 + options.a * options.a) / fan));
}

void caffe2_xavier_init(WeightLayer& layer, uint64_t seed) {
  kaiming_init(layer, seed, {.a = 1, .mode = FanMode::kFanIn, .distribution = Distribution::kUniform});
}

}  // namespace osprey
