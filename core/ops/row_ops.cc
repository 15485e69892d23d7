#include "core/ops/row_ops.h"

#include "core/ops/elementwise.h"
#include "core/ops/map.h"
#include "core/ops/row_ops_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Tensor&, Tensor&)> scale_rows_kernel("scale_rows");
DeviceKernel<void(const Tensor&, Tensor&)> sum_of_rows_kernel("sum_of_rows");
DeviceKernel<void(const Tensor&, int64_t, Tensor&)> max_of_rows_kernel("max_of_rows");
DeviceKernel<void(const Tensor&, Tensor&)> with_zero_column_kernel("with_zero_column");
DeviceKernel<void(const Tensor&, int64_t, Tensor&)> one_hot_kernel("one_hot");
DeviceKernel<void(const Tensor&, int64_t, Tensor&)> unless_equal_kernel("unless_equal");
DeviceKernel<void(const Tensor&, const Tensor&, int64_t, Tensor&)> topk_hits_kernel("topk_hits");

namespace {

Tensor scaled(const Tensor& x, const Tensor& weights) {
  Tensor out = Tensor::empty_like(x);
  if (!out.empty()) scale_rows_kernel(x.device(), x, weights, out);
  return out;
}

Tensor sums_of(const Tensor& x) {
  OSPREY_REQUIRE(x.rank() == 2, "rows of x must be (n, c), got ", to_string(x.shape()));
  Tensor sums = Tensor::zeros({x.dim(0)}, x.dtype(), x.device());
  if (!x.empty()) sum_of_rows_kernel(x.device(), x, sums);
  return sums;
}

}  // namespace

Variable scale_rows(const Variable& x, const Tensor& weights) {
  OSPREY_REQUIRE(x.value().rank() >= 1 && weights.shape() == Shape{x.dim(0)}, "scale_rows: x ",
                 to_string(x.shape()), " needs one weight per row, got ", to_string(weights.shape()));
  const Tensor w = weights.to(x.dtype()).to(x.device());
  return record("scale_rows", scaled(x.value(), w), {x},
                [w](const Tensor& g) { return Gradients{scaled(g, w)}; });
}

Variable sum_of_rows(const Variable& x) {
  const Shape shape = x.shape();
  return record("sum_of_rows", sums_of(x.value()), {x}, [shape](const Tensor& g) {
    return Gradients{scaled(Tensor::full(shape, 1, g.dtype(), g.device()), g)};
  });
}

Tensor mean_of_rows(const Tensor& x) {
  const Tensor sums = sums_of(x);
  OSPREY_REQUIRE(x.dim(1) > 0, "mean_of_rows: rows of ", to_string(x.shape()), " are empty");
  return ((1.0 / static_cast<double>(x.dim(1))) * Variable(sums)).value();
}

Tensor max_of_rows(const Tensor& x, int64_t columns) {
  OSPREY_REQUIRE(x.rank() == 2 && columns > 0 && columns <= x.dim(1), "max_of_rows: ", columns,
                 " columns of ", to_string(x.shape()));
  Tensor largest({x.dim(0)}, DType::kF32, x.device());
  if (!largest.empty()) max_of_rows_kernel(x.device(), x, columns, largest);
  return largest;
}

Tensor with_zero_column(const Tensor& x) {
  OSPREY_REQUIRE(x.rank() == 2, "with_zero_column: x must be (n, c), got ", to_string(x.shape()));
  Tensor out({x.dim(0), x.dim(1) + 1}, DType::kF32, x.device());
  if (!out.empty()) with_zero_column_kernel(x.device(), x, out);
  return out;
}

Tensor one_hot(const Tensor& labels, int64_t classes) {
  OSPREY_REQUIRE(labels.rank() == 1 && classes >= 0, "one_hot: labels must be (n), got ",
                 to_string(labels.shape()), ", classes ", classes);
  Tensor targets({labels.dim(0), classes}, DType::kF32, labels.device());
  if (!targets.empty()) one_hot_kernel(labels.device(), labels.to(DType::kI64), classes, targets);
  return targets;
}

Tensor unless_equal(const Tensor& labels, int64_t ignored) {
  Tensor mask(labels.shape(), DType::kF32, labels.device());
  if (!mask.empty()) unless_equal_kernel(labels.device(), labels.to(DType::kI64), ignored, mask);
  return mask;
}

Tensor topk_hits(const Tensor& scores, const Tensor& labels, int64_t k) {
  OSPREY_REQUIRE(scores.rank() == 2 && labels.shape() == Shape{scores.dim(0)}, "topk_hits: scores ",
                 to_string(scores.shape()), ", labels ", to_string(labels.shape()));
  const Tensor classes = labels.to(DType::kI64).to(scores.device());
  Tensor hits({scores.dim(0)}, DType::kF32, scores.device());
  if (!hits.empty()) topk_hits_kernel(scores.device(), scores.to(DType::kF32), classes, k, hits);
  return hits;
}

Variable divide_by_count(const Variable& total, const Tensor& count) {
  return total * Variable(map<InverseOrZero>({count.to(total.dtype()).to(total.device())}));
}

}  // namespace osprey
