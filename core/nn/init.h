#pragma once

#include <string>

#include "core/base/rng.h"
#include "core/nn/weight_layer.h"

// Initial weights, with the names and formulas of mmcv.cnn and torch.nn.init.
namespace osprey {

// The random stream of one parameter. It depends on the seed and the parameter's path alone, so a layer that
// is added to a model does not change the numbers of the others.
CounterRng parameter_rng(uint64_t seed, const std::string& path);

// Numbers of inputs and outputs that one weight connects, as torch counts them (groups are not considered).
struct Fans {
  int64_t in, out;
};
Fans fans_of(const Parameter& weight);

void fill_constant(Parameter& parameter, double value);
void fill_uniform(Parameter& parameter, CounterRng rng, double bound);  // [-bound, bound)
void fill_normal(Parameter& parameter, CounterRng rng, double std);     // mean 0

enum class Distribution { kUniform, kNormal };
enum class FanMode { kFanIn, kFanOut };
struct KaimingOptions {
  double a = 0;  // negative slope of the activation behind the layer; 0 = ReLU
  FanMode mode = FanMode::kFanOut;
  Distribution distribution = Distribution::kNormal;
};

// Each draws the layer's weight and sets its bias to 0.
void constant_init(WeightLayer& layer, double value);
void normal_init(WeightLayer& layer, uint64_t seed, double std);
// Glorot & Bengio 2010.
void xavier_init(WeightLayer& layer, uint64_t seed, Distribution distribution = Distribution::kNormal);
// He et al. 2015.
void kaiming_init(WeightLayer& layer, uint64_t seed, const KaimingOptions& options = {});
// What Caffe2, hence Detectron, calls Xavier: uniform within sqrt(3 / fan_in).
void caffe2_xavier_init(WeightLayer& layer, uint64_t seed);

}  // namespace osprey
