// Rates of the dense ops beside the machine's own: `tools/benchmark --benchmark_filter=conv`. conv2d renews
// its packed weights at every step, as training does; `floor` is oneDNN alone. OMP_NUM_THREADS sets the
// threads.
#include <benchmark/benchmark.h>

#include <cstring>

#include "core/base/rng.h"
#include "core/ops/conv2d.h"
#include "core/ops/deform_conv2d.h"
#include "core/ops/elementwise.h"
#include "core/ops/interpolate.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/pool2d.h"
#include "tools/benchmark_floor.h"
#include "tools/resnet50_convs.h"

namespace osprey {
namespace {

using ::benchmark::State;

Tensor random_tensor(Shape shape, DType dtype, uint64_t seed) {
  CounterRng rng(seed);
  Tensor tensor(std::move(shape), DType::kF32);
  float* values = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = rng.uniform() - 0.5f;
  return tensor.to(dtype);
}

DType dtype_arg(const State& state) { return static_cast<DType>(state.range(0)); }

void report_flops(State& state, double flops) {
  state.counters["FLOP"] = ::benchmark::Counter(flops, ::benchmark::Counter::kIsIterationInvariantRate,
                                                ::benchmark::Counter::kIs1000);
}

// Bytes read and written, against which memory-bound ops are judged.
void report_bytes(State& state, double bytes) {
  state.counters["B"] = ::benchmark::Counter(bytes, ::benchmark::Counter::kIsIterationInvariantRate,
                                             ::benchmark::Counter::kIs1000);
}

constexpr int64_t kImages = 2;

std::vector<ConvLayer> layers_of(const State& state) {
  return resnet50_convs(kImages, state.range(1), state.range(1));
}

double total_flops(const std::vector<ConvLayer>& layers) {
  double flops = 0;
  for (const ConvLayer& layer : layers) flops += layer.flops();
  return flops;
}

struct ConvLeaf {
  ConvLayer layer;
  Variable x, weight;
  Tensor grad;
};

std::vector<ConvLeaf> make_convs(const State& state) {
  const DType dtype = dtype_arg(state);
  std::vector<ConvLeaf> leaves;
  for (const ConvLayer& c : layers_of(state)) {
    leaves.push_back({c,
                      Variable(random_tensor({c.n, c.h, c.w, c.ci}, dtype, 1), /*requires_grad=*/c.ci != 3),
                      Variable(random_tensor({c.co, c.kernel, c.kernel, c.ci}, dtype, 2), true),
                      random_tensor({c.n, c.out_h(), c.out_w(), c.co}, dtype, 3)});
  }
  return leaves;
}

Variable run(const ConvLeaf& leaf) {
  return conv2d(leaf.x, leaf.weight, {}, Conv2dParams::square(leaf.layer.stride, leaf.layer.kernel / 2));
}

void conv_forward(State& state) {
  std::vector<ConvLeaf> leaves = make_convs(state);
  const NoGradGuard no_grad;
  for (auto _ : state) {
    for (const ConvLeaf& leaf : leaves) ::benchmark::DoNotOptimize(run(leaf));
  }
  report_flops(state, total_flops(layers_of(state)));
}

void conv_step(State& state) {
  std::vector<ConvLeaf> leaves = make_convs(state);
  for (auto _ : state) {
    for (ConvLeaf& leaf : leaves) {
      leaf.weight.mutable_value().mutable_raw();  // an optimizer was here
      run(leaf).backward(leaf.grad);
      leaf.weight.zero_grad();
      leaf.x.zero_grad();
    }
  }
  report_flops(state, 3 * total_flops(layers_of(state)));
}

// The deformable 3x3 convolutions of a backbone's last three stages, one of each, for two images.
struct DeformLeaf {
  Variable x, offset, weight;
  DeformConv2dParams params;
  Tensor grad;
};

// width: channels of the first of the three.
std::vector<DeformLeaf> make_deform_convs(const State& state, int64_t width, int64_t groups) {
  const DType dtype = dtype_arg(state);
  std::vector<DeformLeaf> leaves;
  for (int64_t channels = width, side = state.range(1) / 8; channels <= 4 * width; channels *= 2, side /= 2) {
    const Shape map{kImages, side, side, channels};
    leaves.push_back({Variable(random_tensor(map, dtype, 1), true),
                      Variable(random_tensor({kImages, side, side, 18}, dtype, 2), true),
                      Variable(random_tensor({channels, 3, 3, channels / groups}, dtype, 3), true),
                      {Conv2dParams::square(1, 1, 1, groups), 1},
                      random_tensor(map, dtype, 4)});
  }
  return leaves;
}

double total_flops(const std::vector<DeformLeaf>& leaves) {
  double flops = 0;
  for (const DeformLeaf& leaf : leaves) {
    flops += 2.0 * static_cast<double>(leaf.x.numel() * 9 * leaf.weight.dim(3));
  }
  return flops;
}

void run_deform_step(State& state, std::vector<DeformLeaf> leaves) {
  for (auto _ : state) {
    for (DeformLeaf& leaf : leaves) {
      leaf.weight.mutable_value().mutable_raw();
      deform_conv2d(leaf.x, leaf.offset, leaf.weight, leaf.params).backward(leaf.grad);
      for (Variable* variable : {&leaf.x, &leaf.offset, &leaf.weight}) variable->zero_grad();
    }
  }
  report_flops(state, 3 * total_flops(leaves));
}

void deform_conv_forward(State& state) {
  const std::vector<DeformLeaf> leaves = make_deform_convs(state, 128, 1);
  const NoGradGuard no_grad;
  for (auto _ : state) {
    for (const DeformLeaf& leaf : leaves) {
      ::benchmark::DoNotOptimize(deform_conv2d(leaf.x, leaf.offset, leaf.weight, leaf.params));
    }
  }
  report_flops(state, total_flops(leaves));
}
void deform_conv_step(State& state) { run_deform_step(state, make_deform_convs(state, 128, 1)); }
void deform_conv_resnext_step(State& state) { run_deform_step(state, make_deform_convs(state, 512, 64)); }

// What a call costs beside the arithmetic: one 3x3 convolution of a 4x4 map, forward and backward.
void conv_call(State& state) {
  const Variable x(random_tensor({1, 4, 4, 16}, dtype_arg(state), 1), true);
  const Variable weight(random_tensor({16, 3, 3, 16}, dtype_arg(state), 2), true);
  const Tensor grad = random_tensor({1, 4, 4, 16}, dtype_arg(state), 3);
  for (auto _ : state) conv2d(x, weight, {}, Conv2dParams::square(1, 1)).backward(grad);
}

void floor_forward(State& state) {
  const FloorConvs floor = make_floor_convs(layers_of(state), dtype_arg(state));
  for (auto _ : state) {
    for (const auto& run : floor.forward) run();
  }
  report_flops(state, total_flops(layers_of(state)));
}

void floor_step(State& state) {
  const FloorConvs floor = make_floor_convs(layers_of(state), dtype_arg(state));
  for (auto _ : state) {
    for (const auto& run : floor.forward) run();
    for (const auto& run : floor.backward) run();
  }
  report_flops(state, 3 * total_flops(layers_of(state)));
}

// The first fully connected layer of a box head.
void linear_step(State& state) {
  const DType dtype = dtype_arg(state);
  const int64_t rows = state.range(1), in = 12544, out = 1024;
  const Variable x(random_tensor({rows, in}, dtype, 1), true);
  Variable weight(random_tensor({out, in}, dtype, 2), true);
  const Tensor grad = random_tensor({rows, out}, dtype, 3);
  for (auto _ : state) {
    weight.mutable_value().mutable_raw();
    linear(x, weight, {}).backward(grad);
    Variable(x).zero_grad();
    weight.zero_grad();
  }
  report_flops(state, 6.0 * static_cast<double>(rows * in * out));
}

// One stage-1 map of ResNet-50.
Variable make_map(DType dtype, uint64_t seed) {
  return Variable(random_tensor({2, 64, 64, 256}, dtype, seed), /*requires_grad=*/true);
}

// Times f on one map and, with `backward`, its gradient; `passes` counts reads and writes of the map.
template <typename F>
void run_map(State& state, bool backward, double passes, const F& f) {
  Variable x = make_map(dtype_arg(state), 1);
  const Tensor grad = make_map(dtype_arg(state), 2).value();
  for (auto _ : state) {
    const Variable y = f(x);
    if (backward) y.backward(grad);
    x.zero_grad();
  }
  report_bytes(state, passes * static_cast<double>(x.value().bytes()));
}

struct Norm {
  Variable weight{Tensor::full({256}, 1, DType::kF32), true}, bias{Tensor::full({256}, 0, DType::kF32), true};
  Buffer mean{Tensor::zeros({256}, DType::kF32), {}}, var{Tensor::full({256}, 1, DType::kF32), {}};
};

void batch_norm_forward(State& state) {
  Norm n;
  run_map(state, false, 3,
          [&](const Variable& x) { return batch_norm(x, n.weight, n.bias, n.mean, n.var, true, 0.1, 1e-5); });
}
void batch_norm_step(State& state) {
  Norm n;
  run_map(state, true, 8,
          [&](const Variable& x) { return batch_norm(x, n.weight, n.bias, n.mean, n.var, true, 0.1, 1e-5); });
}
void batch_norm_relu_step(State& state) {
  Norm n;
  run_map(state, true, 10, [&](const Variable& x) {
    return batch_norm_relu(x, n.weight, n.bias, n.mean, n.var, true, 0.1, 1e-5, {});
  });
}
void group_norm_step(State& state) {
  const Norm n;
  run_map(state, true, 8, [&](const Variable& x) { return group_norm(x, n.weight, n.bias, 32, 1e-5); });
}
void relu_step(State& state) {
  run_map(state, true, 5, [](const Variable& x) { return relu(x); });
}
void add_forward(State& state) {
  const Variable other = make_map(dtype_arg(state), 3);
  run_map(state, false, 3, [&](const Variable& x) { return x + other; });
}
void max_pool_step(State& state) {
  Variable x = make_map(dtype_arg(state), 1);
  const Tensor grad = random_tensor({2, 32, 32, 256}, dtype_arg(state), 2);
  for (auto _ : state) {
    max_pool2d(x, {3, 2, 1}).backward(grad);
    x.zero_grad();
  }
  // The map twice, the result and its gradient of a quarter each, and i32 indices written and read.
  const double map = static_cast<double>(x.value().bytes()), indices = static_cast<double>(grad.numel() * 4);
  report_bytes(state, 2.5 * map + 2 * indices);
}
void upsample_step(State& state) {
  Variable x = make_map(dtype_arg(state), 1);
  const Tensor grad = random_tensor({2, 128, 128, 256}, dtype_arg(state), 2);
  for (auto _ : state) {
    upsample_nearest(x, 128, 128).backward(grad);
    x.zero_grad();
  }
  report_bytes(state, 10 * static_cast<double>(x.value().bytes()));
}
void cast_to_f32(State& state) {
  const Tensor x = make_map(dtype_arg(state), 1).value();
  for (auto _ : state) ::benchmark::DoNotOptimize(x.to(DType::kF32));
  report_bytes(state, static_cast<double>(x.bytes() + x.numel() * 4));
}
void copy_map(State& state) {  // streaming: what memory can do
  const Tensor x = make_map(dtype_arg(state), 1).value();
  for (auto _ : state) ::benchmark::DoNotOptimize(x.clone());
  report_bytes(state, 2 * static_cast<double>(x.bytes()));
}

void every_dtype(::benchmark::internal::Benchmark* b) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) b->Arg(static_cast<int64_t>(dtype));
  b->ArgName("dtype")->Unit(::benchmark::kMillisecond)->UseRealTime();
}
// dtype, and the side of the images that ResNet-50 sees.
void conv_args(::benchmark::internal::Benchmark* b, std::initializer_list<DType> dtypes) {
  for (const DType dtype : dtypes) {
    for (const int64_t side : {256, 512}) b->Args({static_cast<int64_t>(dtype), side});
  }
  b->ArgNames({"dtype", "side"})->Unit(::benchmark::kMillisecond)->UseRealTime();
}
void floor_args(::benchmark::internal::Benchmark* b) { conv_args(b, {DType::kF32, DType::kBF16}); }
void every_conv(::benchmark::internal::Benchmark* b) {
  conv_args(b, {DType::kF32, DType::kBF16, DType::kF16});
}
void dtypes_and_rows(::benchmark::internal::Benchmark* b) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const int64_t rows : {64, 512}) b->Args({static_cast<int64_t>(dtype), rows});
  }
  b->ArgNames({"dtype", "rows"})->Unit(::benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK(floor_forward)->Apply(floor_args);
BENCHMARK(floor_step)->Apply(floor_args);
BENCHMARK(conv_forward)->Apply(every_conv);
BENCHMARK(conv_step)->Apply(every_conv);
BENCHMARK(deform_conv_forward)->Apply(every_conv);
BENCHMARK(deform_conv_step)->Apply(every_conv);
BENCHMARK(deform_conv_resnext_step)->Apply(every_conv);
BENCHMARK(conv_call)->Apply(every_dtype)->Unit(::benchmark::kMicrosecond);
BENCHMARK(linear_step)->Apply(dtypes_and_rows);
BENCHMARK(copy_map)->Apply(every_dtype);
BENCHMARK(cast_to_f32)->Apply(every_dtype);
BENCHMARK(add_forward)->Apply(every_dtype);
BENCHMARK(relu_step)->Apply(every_dtype);
BENCHMARK(batch_norm_forward)->Apply(every_dtype);
BENCHMARK(batch_norm_step)->Apply(every_dtype);
BENCHMARK(batch_norm_relu_step)->Apply(every_dtype);
BENCHMARK(group_norm_step)->Apply(every_dtype);
BENCHMARK(max_pool_step)->Apply(every_dtype);
BENCHMARK(upsample_step)->Apply(every_dtype);

}  // namespace
}  // namespace osprey

BENCHMARK_MAIN();
