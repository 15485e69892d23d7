#include "core/ops/elementwise.h"
#include "core/ops/norm.h"
#include "core/ops/reduce.h"
#include "tests/core/parallel/scenario.h"

namespace osprey::testing {
namespace {

constexpr int64_t kChannels = 5;

// Rows of each rank: an uneven share, and none on the third.
int64_t rows_of(int rank) { return rank == 0 ? 6 : rank == 1 ? 3 : 0; }

struct Norm {
  Variable weight, bias;
  Buffer mean, var;
  explicit Norm(DType dtype, Device device)
      : weight(random_values({kChannels}, 7, dtype).to(device), true),
        bias(random_values({kChannels}, 8, dtype).to(device), true),
        mean{Tensor::zeros({kChannels}, DType::kF32, device), {}},
        var{Tensor::full({kChannels}, 1, DType::kF32, device), {}} {}
};

struct Passed {
  Tensor y, grad_x, grad_weight, grad_bias, mean, var;
};

// Forward and backward of rows [begin, end) of the joined batch; far from mean 0, where sums lose digits.
Passed pass(DType dtype, Device device, int64_t begin, int64_t end, bool with_relu, Communicator* ranks) {
  const int64_t total = rows_of(0) + rows_of(1);
  const auto part = [&](uint64_t seed, double shift) {
    const Tensor all = random_values({total, 1, 2, kChannels}, seed, DType::kF64);
    Tensor shifted = all.clone();
    for (int64_t i = 0; i < shifted.numel(); ++i) shifted.mutable_data<double>()[i] += shift;
    return shifted.slice(begin, end).to(dtype).to(device);
  };
  Norm norm(dtype == DType::kF64 ? DType::kF64 : DType::kF32, device);
  const Variable x(part(1, 10), true), residual(part(2, 0), true);
  const Variable y =
      with_relu
          ? batch_norm_relu(x, norm.weight, norm.bias, norm.mean, norm.var, true, 0.1, 1e-5, residual, ranks)
          : batch_norm(x, norm.weight, norm.bias, norm.mean, norm.var, true, 0.1, 1e-5, ranks);
  sum(cast(y * Variable(part(3, 0)), DType::kF32)).backward(1);
  return {y.value(), x.grad(), norm.weight.grad(), norm.bias.grad(), norm.mean.staged, norm.var.staged};
}

void check(DType dtype, bool with_relu, double tolerance) {
  const Device device = dtype == DType::kF64 ? kCPU : own_device();
  int64_t begin = 0;
  for (int before = 0; before < world().rank(); ++before) begin += rows_of(before);
  const int64_t end = begin + rows_of(world().rank());
  Passed own = pass(dtype, device, begin, end, with_relu, &world());
  const Passed joined = pass(dtype, device, 0, rows_of(0) + rows_of(1), with_relu, nullptr);

  expect_near(own.y, joined.y.slice(begin, end), tolerance, "y");
  if (end > begin) expect_near(own.grad_x, joined.grad_x.slice(begin, end), tolerance, "grad_x");
  for (auto* shares : {&own.grad_weight, &own.grad_bias}) world().all_reduce(*shares);
  expect_near(own.grad_weight, joined.grad_weight, tolerance, "grad_weight");
  expect_near(own.grad_bias, joined.grad_bias, tolerance, "grad_bias");
  expect_near(own.mean, joined.mean, 1e-6, "running mean");
  expect_near(own.var, joined.var, 1e-6, "running var");
  expect_same_everywhere(own.var, "running var");
}

OSPREY_SCENARIO(sync_batch_norm) {
  for (const bool with_relu : {false, true}) {
    if (own_device() == kCPU) check(DType::kF64, with_relu, 1e-6);
    check(DType::kF32, with_relu, 5e-6);
    check(DType::kF16, with_relu, 2e-3);
  }
}

// Nobody has a row: the running statistics stay.
OSPREY_SCENARIO(sync_batch_norm_without_rows) {
  Norm norm(DType::kF32, own_device());
  const Variable x(Tensor({0, 4, 4, kChannels}, DType::kF32, own_device()), true);
  const Variable y = batch_norm(x, norm.weight, norm.bias, norm.mean, norm.var, true, 0.1, 1e-5, &world());
  expect(y.shape() == x.shape(), "shape");
  expect_near(norm.mean.current(), norm.mean.value, 1e-7, "running mean");
  expect_near(norm.var.current(), norm.var.value, 1e-7, "running var");
}

}  // namespace
}  // namespace osprey::testing
