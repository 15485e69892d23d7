#include "core/autograd/checkpoint.h"
#include "core/ops/batch_norm_kernel.h"
#include "core/ops/elementwise_kernel.h"
#include "core/ops/map.h"
#include "core/ops/norm.h"
#include "core/ops/norm_kernel.h"
#include "core/parallel/communicator.h"

namespace osprey {

DeviceKernel<void(const Tensor&, Tensor&, Tensor&)> batch_norm_stats_kernel("batch_norm statistics");
DeviceKernel<void(const MergeStatisticsArgs&, Tensor&, Tensor&, Tensor&, Tensor&)> merge_statistics_kernel(
    "sync_batch_norm statistics");
DeviceKernel<void(const NormalizeArgs&, Tensor&)> normalize_kernel("batch_norm");
DeviceKernel<void(const NormalizeGradArgs&, Tensor*, Tensor*, Tensor*)> normalize_backward_kernel(
    "batch_norm backward");

namespace {

// The dtype of statistics and of the affine parameters beside x.
DType compute_dtype(const Variable& x) { return x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32; }

Tensor as_rows(const Tensor& x) { return x.reshape({-1, x.dim(-1)}); }

void check_inputs(const char* op, const Variable& x, const Variable& weight, const Variable& bias,
                  const Variable& residual) {
  OSPREY_REQUIRE(x.value().rank() >= 2 && is_floating(x.dtype()), op, ": x must be (n, ..., c), got ",
                 describe(x.value()));
  const Shape channels{x.dim(-1)};
  OSPREY_REQUIRE(weight.shape() == channels && bias.shape() == channels, op, ": weight ",
                 to_string(weight.shape()), " and bias ", to_string(bias.shape()), " beside x ",
                 to_string(x.shape()));
  OSPREY_REQUIRE(!residual.defined() || (residual.shape() == x.shape() && residual.dtype() == x.dtype()), op,
                 ": residual ", residual.defined() ? describe(residual.value()) : "", " beside x ",
                 describe(x.value()));
}

// What the three entry points share: where mean and variance come from is settled.
struct Statistics {
  Tensor mean, var;
  bool of_batch;
  Communicator* ranks = nullptr;  // of all of them together
  Tensor count;                   // of their rows
};

// Gradients of bias and weight through these rows; into the two rows of `sums`.
void affine_gradients(const NormalizeGradArgs& args, Tensor sums) {
  if (args.grad_y.empty()) return sums.fill(0);
  Tensor of_bias = sums[0], of_weight = sums[1];
  normalize_backward_kernel(args.grad_y.device(), args, nullptr, &of_weight, &of_bias);
}

Gradients backward(NormalizeGradArgs args, const Shape& shape, const Statistics& stats, bool need_x,
                   bool need_affine) {
  const Tensor& grad_y = args.grad_y;
  Gradients gradients(3);
  const auto like_weight = [&] { return Tensor::zeros_like(args.weight); };
  if (need_affine) gradients[1] = like_weight(), gradients[2] = like_weight();
  if (need_x) gradients[0] = Tensor(shape, grad_y.dtype(), grad_y.device());
  bool affine_done = false;
  if (stats.ranks && need_x) {  // the sums are the gradients of bias and weight over all ranks
    Tensor sums({2, args.weight.numel()}, args.weight.dtype(), grad_y.device());
    affine_gradients(args, sums);
    if (need_affine) gradients[1].copy_from(sums[1]), gradients[2].copy_from(sums[0]);
    affine_done = true;
    stats.ranks->all_reduce(sums);
    args.sums = sums;
    args.count = stats.count;
  }
  if (grad_y.empty()) return gradients;
  const bool affine = need_affine && !affine_done;
  normalize_backward_kernel(grad_y.device(), args, need_x ? &gradients[0] : nullptr,
                            affine ? &gradients[1] : nullptr, affine ? &gradients[2] : nullptr);
  if (need_x) gradients[0] = gradients[0].reshape(shape);
  return gradients;
}

Variable normalize(const char* op, const Variable& x, const Variable& weight, const Variable& bias,
                   const Statistics& stats, double eps, bool relu, const Variable& residual) {
  const OpScope scope(op);
  const DType dtype = compute_dtype(x);
  const Tensor w = weight.value().to(dtype), b = bias.value().to(dtype), rows = as_rows(x.value());
  Tensor y = Tensor::empty_like(rows);
  if (!y.empty()) {
    normalize_kernel(y.device(),
                     {rows, stats.mean, stats.var, w, b,
                      residual.defined() ? as_rows(residual.value()) : Tensor(), relu, eps},
                     y);
  }
  const bool need_affine = weight.requires_grad() || bias.requires_grad();
  const NormalizeGradArgs saved{Tensor(),
                                stats.mean,
                                stats.var,
                                w,
                                need_affine || stats.of_batch ? rows : Tensor(),
                                relu ? y : Tensor(),
                                stats.of_batch,
                                eps,
                                {},
                                {}};
  Variables inputs{x, weight, bias};
  if (residual.defined()) inputs.push_back(residual);
  const bool need_residual = residual.requires_grad();
  return record(op, y.reshape(x.shape()), inputs,
                [saved, stats, shape = x.shape(), need_x = x.requires_grad(), need_affine, need_residual,
                 arity = inputs.size()](const Tensor& g) {
                  NormalizeGradArgs args = saved;
                  args.grad_y = as_rows(g);
                  const bool masked = args.y.defined() && need_residual && !g.empty();
                  if (masked) {  // the residual's gradient is the masked one: made once, used twice
                    args.grad_y = map<ReluGrad>({args.y, args.grad_y});
                    args.y = Tensor();
                  }
                  Gradients gradients = backward(args, shape, stats, need_x, need_affine);
                  if (arity == 4) gradients.push_back(args.grad_y.reshape(shape));
                  return gradients;
                });
}

void stage(Buffer& buffer, const Tensor& batch, double momentum, double correction) {
  const Tensor typed = batch.to(buffer.current().dtype());
  buffer.staged = map<UpdateRunning>({buffer.current(), typed}, momentum, correction);
}

// Of the rows of all ranks. Each puts its own into one row of a table, and the sum of the tables holds all.
Statistics statistics_over(Communicator& ranks, const Variable& x, Buffer& running_mean, Buffer& running_var,
                           double momentum) {
  const DType dtype = compute_dtype(x);
  const Device device = x.device();
  const int64_t channels = x.dim(-1);
  const Tensor rows = as_rows(x.value());
  Tensor table = Tensor::zeros({ranks.size(), 2 * channels + 1}, dtype, device);
  if (!rows.empty()) {
    const Tensor own = table[ranks.rank()];
    Tensor mean = own.slice(0, channels), var = own.slice(channels, 2 * channels);
    batch_norm_stats_kernel(device, rows, mean, var);
    Tensor count = own.slice(2 * channels, 2 * channels + 1);
    count.fill(static_cast<double>(rows.dim(0)));
  }
  ranks.all_reduce(table);
  const auto per_channel = [&] { return Tensor({channels}, dtype, device); };
  Statistics stats{per_channel(), per_channel(), true, &ranks, Tensor({1}, dtype, device)};
  Tensor unbiased = per_channel();
  merge_statistics_kernel(device, {table, running_mean.current().to(dtype), running_var.current().to(dtype)},
                          stats.mean, stats.var, unbiased, stats.count);
  if (!recomputing()) {
    stage(running_mean, stats.mean, momentum, 1);
    stage(running_var, unbiased, momentum, 1);
  }
  return stats;
}

Statistics statistics_of(const Variable& x, Buffer& running_mean, Buffer& running_var, bool training,
                         double momentum, Communicator* ranks) {
  const DType dtype = compute_dtype(x);
  if (training && ranks && ranks->size() > 1)
    return statistics_over(*ranks, x, running_mean, running_var, momentum);
  if (!training || x.value().empty()) {
    return {running_mean.value.to(dtype), running_var.value.to(dtype), false, nullptr, {}};
  }
  const Tensor rows = as_rows(x.value());
  Statistics stats{
      Tensor({x.dim(-1)}, dtype, x.device()), Tensor({x.dim(-1)}, dtype, x.device()), true, nullptr, {}};
  batch_norm_stats_kernel(x.device(), rows, stats.mean, stats.var);
  if (!recomputing()) {
    const double m = static_cast<double>(rows.dim(0));
    stage(running_mean, stats.mean, momentum, 1);
    stage(running_var, stats.var, momentum, m / std::max(m - 1, 1.0));
  }
  return stats;
}

}  // namespace

Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias, Buffer& running_mean,
                    Buffer& running_var, bool training, double momentum, double eps, Communicator* ranks) {
  check_inputs("batch_norm", x, weight, bias, {});
  const Statistics stats = statistics_of(x, running_mean, running_var, training, momentum, ranks);
  return normalize("batch_norm", x, weight, bias, stats, eps, /*relu=*/false, {});
}

Variable batch_norm_relu(const Variable& x, const Variable& weight, const Variable& bias,
                         Buffer& running_mean, Buffer& running_var, bool training, double momentum,
                         double eps, const Variable& residual, Communicator* ranks) {
  check_inputs("batch_norm_relu", x, weight, bias, residual);
  const Statistics stats = statistics_of(x, running_mean, running_var, training, momentum, ranks);
  return normalize("batch_norm_relu", x, weight, bias, stats, eps, /*relu=*/true, residual);
}

Variable batch_norm_inference_relu(const Variable& x, const Variable& weight, const Variable& bias,
                                   const Tensor& running_mean, const Tensor& running_var, double eps,
                                   const Variable& residual) {
  check_inputs("batch_norm_inference_relu", x, weight, bias, residual);
  const DType dtype = compute_dtype(x);
  return normalize("batch_norm_inference_relu", x, weight, bias,
                   {running_mean.to(dtype), running_var.to(dtype), false, nullptr, {}}, eps, /*relu=*/true,
                   residual);
}

}  // namespace osprey
