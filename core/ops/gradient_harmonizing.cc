#include "core/ops/gradient_harmonizing.h"

#include "core/ops/gradient_harmonizing_kernel.h"
#include "core/ops/map.h"
#include "core/ops/quality_losses_kernel.h"

namespace osprey {

DeviceKernel<void(HarmonizingArgs&)> harmonizing_kernel("harmonizing_weights");

Tensor gradient_length_of_logits(const Tensor& logits, const Tensor& targets) {
  return map<LogitGradientLength>({logits, targets});
}

Tensor gradient_length_of_diffs(const Tensor& diff, double mu) { return map<DiffGradientLength>({diff}, mu); }

Tensor harmonizing_weights(const Tensor& lengths, const Tensor& weights, const Tensor& edges, double momentum,
                           Buffer* acc_sum) {
  OSPREY_REQUIRE(lengths.shape() == weights.shape(), "harmonizing_weights: lengths ",
                 to_string(lengths.shape()), ", weights ", to_string(weights.shape()));
  OSPREY_REQUIRE(edges.rank() == 1 && edges.numel() >= 2,
                 "harmonizing_weights: edges must be (bins + 1), got ", to_string(edges.shape()));
  OSPREY_REQUIRE((momentum > 0) == (acc_sum != nullptr),
                 "harmonizing_weights: acc_sum goes with momentum > 0");
  const Device device = lengths.device();
  const Shape bins{edges.numel() - 1};
  HarmonizingArgs args;
  args.lengths = lengths.to(DType::kF32);
  args.weights = weights.to(DType::kF32).to(device);
  args.edges = edges.to(device);
  args.momentum = static_cast<float>(momentum);
  args.counts = Tensor::zeros(bins, DType::kI32, device);
  args.weight_of_bin = Tensor(bins, DType::kF32, device);
  args.weight_of_each = Tensor(lengths.shape(), DType::kF32, device);
  if (lengths.empty()) return args.weight_of_each;
  if (acc_sum != nullptr) {
    args.acc_sum = acc_sum->current().to(device);
    args.new_acc_sum = Tensor(bins, DType::kF32, device);
  }
  harmonizing_kernel(device, args);
  if (acc_sum != nullptr) acc_sum->staged = args.new_acc_sum;
  return args.weight_of_each;
}

}  // namespace osprey
