#include "core/ops/shape_ops.h"

#include "core/ops/shape_ops_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, const Tensor&, Tensor&)> gather_rows_kernel("gather_rows");
DeviceKernel<void(const Tensor&, const Tensor&, Tensor&)> scatter_add_rows_kernel("gather_rows backward");
DeviceKernel<void(const Tensor&, const Tensor&, Tensor&)> select_group_kernel("gather_group");
DeviceKernel<void(const Tensor&, const Tensor&, Tensor&)> select_group_backward_kernel(
    "gather_group backward");

namespace {

// Indices on x's device. Their range is checked where that needs no synchronisation: on the CPU.
Tensor checked_indices(const char* op, const Tensor& indices, int64_t limit, const Variable& x) {
  OSPREY_REQUIRE(indices.dtype() == DType::kI64 && indices.rank() == 1, op, ": indices must be i64 (n), got ",
                 describe(indices));
  if (!indices.device().is_cuda()) {
    const int64_t* values = indices.data<int64_t>();
    for (int64_t i = 0; i < indices.numel(); ++i) {
      OSPREY_REQUIRE(values[i] >= 0 && values[i] < limit, op, ": index ", values[i], " at ", i,
                     " is outside [0, ", limit, ") of x ", to_string(x.shape()));
    }
  }
  return indices.to(x.device());
}

// x seen as (rows, groups * k), one index for every rows / indices rows.
Variable select_group(const char* op, const Variable& x, const Tensor& indices, int64_t k, Shape out_shape) {
  const int64_t width = x.dim(-1), rows = x.numel() / std::max<int64_t>(width, 1);
  const Tensor groups = checked_indices(op, indices, width / k, x);
  Tensor out({rows, k}, x.dtype(), x.device());
  if (!out.empty()) select_group_kernel(x.device(), x.value().reshape({rows, width}), groups, out);
  return record(op, out.reshape(std::move(out_shape)), {x},
                [groups, rows, width, k, shape = x.shape()](const Tensor& g) {
                  Tensor grad_x({rows, width}, g.dtype(), g.device());
                  if (!grad_x.empty()) {
                    select_group_backward_kernel(g.device(), g.reshape({rows, k}), groups, grad_x);
                  }
                  return Gradients{grad_x.reshape(shape)};
                });
}

}  // namespace

Variable reshape(const Variable& x, Shape shape) {
  return record("reshape", x.value().reshape(std::move(shape)), {x},
                [from = x.shape()](const Tensor& g) { return Gradients{g.reshape(from)}; });
}

Variable concat(const Variables& parts) {
  Tensors values;
  std::vector<int64_t> extents;
  for (const Variable& part : parts) {
    values.push_back(part.value());
    OSPREY_REQUIRE(part.value().rank() > 0, "concat: scalars cannot be joined");
    extents.push_back(part.dim(0));
  }
  return record("concat", concat(values), parts, [extents](const Tensor& g) {
    Gradients gradients;
    int64_t row = 0;
    for (const int64_t extent : extents) {
      gradients.push_back(g.slice(row, row + extent));
      row += extent;
    }
    return gradients;
  });
}

Variable slice_rows(const Variable& x, int64_t begin, int64_t end) {
  return record("slice_rows", x.value().slice(begin, end), {x},
                [begin, end, shape = x.shape()](const Tensor& g) {
                  Tensor grad_x(shape, g.dtype(), g.device());
                  grad_x.slice(0, begin).fill(0);
                  grad_x.slice(begin, end).copy_from(g);
                  grad_x.slice(end, shape[0]).fill(0);
                  return Gradients{grad_x};
                });
}

Variable gather_rows(const Variable& x, const Tensor& indices) {
  OSPREY_REQUIRE(x.value().rank() >= 1, "gather_rows: x must be (n, ...), got ", to_string(x.shape()));
  const Tensor rows = checked_indices("gather_rows", indices, x.dim(0), x);
  Shape shape = x.shape();
  shape[0] = rows.numel();
  Tensor out(shape, x.dtype(), x.device());
  if (!out.empty()) gather_rows_kernel(x.device(), x.value(), rows, out);
  return record("gather_rows", out, {x}, [rows, shape = x.shape()](const Tensor& g) {
    const DType compute = g.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    Tensor sum = Tensor::zeros(shape, compute, g.device());
    if (!g.empty()) scatter_add_rows_kernel(g.device(), g, rows, sum);
    return Gradients{sum.to(g.dtype())};
  });
}

Variable gather_channel(const Variable& x, const Tensor& channels) {
  OSPREY_REQUIRE(x.value().rank() >= 2 && channels.shape() == Shape{x.dim(0)},
                 "gather_channel: x must be (n, ..., c) and channels (n), got ", to_string(x.shape()),
                 " and ", to_string(channels.shape()));
  return select_group("gather_channel", x, channels, 1, Shape(x.shape().begin(), x.shape().end() - 1));
}

Variable gather_group(const Variable& x, const Tensor& groups, int64_t k) {
  OSPREY_REQUIRE(x.value().rank() == 2 && k > 0 && x.dim(1) % k == 0 && groups.shape() == Shape{x.dim(0)},
                 "gather_group: x must be (n, classes * ", k, ") and groups (n), got ", to_string(x.shape()),
                 " and ", to_string(groups.shape()));
  return select_group("gather_group", x, groups, k, {x.dim(0), k});
}

}  // namespace osprey
