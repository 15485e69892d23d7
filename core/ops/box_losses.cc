#include "core/ops/box_losses.h"

#include "core/ops/box_losses_launch.h"
#include "core/ops/elementwise.h"

namespace osprey {

namespace {

template <template <typename> class F>
Variable box_loss(const char* op, const Variable& pred, const Tensor& target, std::vector<double> scalars) {
  OSPREY_REQUIRE(pred.value().rank() == 2 && pred.dim(1) == 4 && target.shape() == pred.shape(), op,
                 ": pred and target must be (n, 4), got ", to_string(pred.shape()), " and ",
                 to_string(target.shape()));
  const Variable x = is_half(pred.dtype()) ? cast(pred, DType::kF32) : pred;
  const Device device = x.device();
  constexpr int64_t kOutputs = F<float>::kOutputs;
  const Shape shape = kOutputs == 1 ? Shape{x.dim(0)} : Shape{x.dim(0), kOutputs};
  BoxLossArgs args{x.value(), target.to(x.dtype()).to(device), std::move(scalars), {}, {}, {}};
  args.loss = Tensor(shape, x.dtype(), device);
  if (!args.loss.empty()) BoxLossKernel<F>::kernel(device, args);
  const Tensor loss = args.loss;
  args.loss = Tensor();
  return record(op, loss, {x}, [args](const Tensor& grad) mutable {
    args.grad = grad;
    args.grad_pred = Tensor::empty_like(args.pred);
    if (!grad.empty()) BoxLossKernel<F>::kernel(grad.device(), args);
    return Gradients{args.grad_pred};
  });
}

}  // namespace

Variable iou_loss(const Variable& pred, const Tensor& target, bool linear, double eps) {
  return box_loss<IoULossOf>("iou_loss", pred, target, {eps, linear ? 1.0 : 0.0});
}
Variable giou_loss(const Variable& pred, const Tensor& target, double eps) {
  return box_loss<GIoULossOf>("giou_loss", pred, target, {eps});
}
Variable diou_loss(const Variable& pred, const Tensor& target, double eps) {
  return box_loss<DIoULossOf>("diou_loss", pred, target, {eps});
}
Variable ciou_loss(const Variable& pred, const Tensor& target, double eps) {
  return box_loss<CIoULossOf>("ciou_loss", pred, target, {eps});
}
Variable bounded_iou_loss(const Variable& pred, const Tensor& target, double beta, double eps) {
  return box_loss<BoundedIoULossOf>("bounded_iou_loss", pred, target, {beta, eps});
}

}  // namespace osprey
