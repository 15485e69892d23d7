#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "core/ops/softmax_cross_entropy_launch.h"

namespace osprey {

DeviceKernel<void(SoftmaxCrossEntropyArgs&)> softmax_cross_entropy_kernel("softmax_cross_entropy");
DeviceKernel<void(SoftmaxCrossEntropyArgs&)> softmax_cross_entropy_grad_kernel("softmax_cross_entropy");

namespace {

void check_labels(const Tensor& labels, int64_t classes, int64_t ignore_index) {
  const int64_t* label = labels.data<int64_t>();
  for (int64_t i = 0; i < labels.numel(); ++i) {
    const bool good = label[i] == ignore_index || (label[i] >= 0 && label[i] < classes);
    OSPREY_REQUIRE(good, "softmax_cross_entropy: label ", label[i], " in row ", i, " is outside [0, ",
                   classes, ") and not the ignored ", ignore_index);
  }
}

}  // namespace

Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels, int64_t ignore_index,
                               const Tensor& class_weight) {
  Shape rows = logits.shape();
  OSPREY_REQUIRE(!rows.empty(), "softmax_cross_entropy: logits must be (..., classes), got a scalar");
  const int64_t classes = rows.back();
  rows.pop_back();
  OSPREY_REQUIRE(rows == labels.shape(), "softmax_cross_entropy: logits ", to_string(logits.shape()),
                 ", labels ", to_string(labels.shape()));
  OSPREY_REQUIRE(!class_weight.defined() || class_weight.shape() == Shape{classes},
                 "softmax_cross_entropy: class_weight must be (", classes, "), got ",
                 to_string(class_weight.shape()));
  if (!labels.device().is_cuda()) check_labels(labels.to(DType::kI64), classes, ignore_index);

  const Variable x = is_half(logits.dtype()) ? cast(logits, DType::kF32) : logits;
  const DType dtype = x.dtype();
  const Device device = x.device();
  const Shape flat{labels.numel()};
  SoftmaxCrossEntropyArgs args{x.value().reshape({labels.numel(), classes}),
                               labels.to(DType::kI64).to(device).reshape(flat),
                               class_weight.defined() ? class_weight.to(dtype).to(device) : Tensor(),
                               ignore_index,
                               Tensor(flat, dtype, device),
                               Tensor(flat, dtype, device),
                               Tensor(flat, dtype, device),
                               {},
                               {}};
  if (labels.numel() > 0) softmax_cross_entropy_kernel(device, args);
  const Tensor loss = args.loss.reshape(rows);
  args.loss = Tensor();
  return record("softmax_cross_entropy", loss, {x}, [args, shape = x.shape()](const Tensor& g) mutable {
    args.grad = g.reshape({g.numel()});
    args.grad_logits = Tensor::empty_like(args.logits);
    if (!args.logits.empty()) softmax_cross_entropy_grad_kernel(args.logits.device(), args);
    return Gradients{args.grad_logits.reshape(shape)};
  });
}

}  // namespace osprey
