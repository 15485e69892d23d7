#include "core/ops/quality_losses.h"

#include "core/ops/elementwise.h"
#include "core/ops/map.h"
#include "core/ops/quality_losses_kernel.h"

namespace osprey {
namespace {

Variable widened(const Variable& x) { return is_half(x.dtype()) ? cast(x, DType::kF32) : x; }

// loss(x, t) element by element, with the slope functor of x.
template <template <typename> class Loss, template <typename> class Grad, typename... Scalars>
Variable against_targets(const char* op, const Variable& pred, const Tensor& targets, Scalars... scalars) {
  OSPREY_REQUIRE(pred.shape() == targets.shape(), op, ": predictions ", to_string(pred.shape()), ", targets ",
                 to_string(targets.shape()));
  const Variable x = widened(pred);
  const Tensor t = targets.to(x.dtype()).to(x.device());
  return record(op, map<Loss>({x.value(), t}, scalars...), {x},
                [x = x.value(), t, scalars...](const Tensor& g) {
                  return Gradients{map<Grad>({x, t, g}, scalars...)};
                });
}

}  // namespace

Variable quality_focal_loss(const Variable& logits, const Tensor& targets, double beta) {
  return against_targets<QualityFocal, QualityFocalGrad>("quality_focal_loss", logits, targets, beta);
}

Variable varifocal_loss(const Variable& logits, const Tensor& targets, double alpha, double gamma,
                        bool iou_weighted) {
  return against_targets<Varifocal, VarifocalGrad>("varifocal_loss", logits, targets, alpha, gamma,
                                                   iou_weighted ? 1.0 : 0.0);
}

Variable gaussian_focal_loss(const Variable& probabilities, const Tensor& targets, double alpha,
                             double gamma) {
  return against_targets<GaussianFocal, GaussianFocalGrad>("gaussian_focal_loss", probabilities, targets,
                                                           alpha, gamma);
}

Variable authentic_smooth_l1(const Variable& diff, double mu) {
  OSPREY_REQUIRE(mu > 0, "authentic_smooth_l1: mu must be > 0, got ", mu);
  const Variable x = widened(diff);
  return record("authentic_smooth_l1", map<AuthenticSmoothL1>({x.value()}, mu), {x},
                [d = x.value(), mu](const Tensor& g) {
                  return Gradients{map<AuthenticSmoothL1Grad>({d, g}, mu)};
                });
}

}  // namespace osprey
