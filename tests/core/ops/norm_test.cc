#include "core/ops/norm.h"

#include <omp.h>

#include <cmath>
#include <map>

#include "core/autograd/checkpoint.h"
#include "core/autograd/gradcheck.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::expect_agrees_with_f64;
using testing::expect_golden;
using testing::Golden;
using testing::nchw_to_nhwc;
using testing::nhwc_to_nchw;
using testing::run_op;
using testing::uniform;

Tensor uniform64(Shape shape, double low, double high, uint64_t seed) {
  return uniform(std::move(shape), low, high, seed).to(DType::kF64);
}

// Buffers of a layer with `channels`, f64 so that they serve every dtype.
struct Buffers {
  Buffer mean, var;
  explicit Buffers(int64_t channels)
      : mean{uniform64({channels}, -0.5, 0.5, 91), {}}, var{uniform64({channels}, 0.5, 1.5, 92), {}} {}
};

// The input of a golden norm, and its case's tensors under short names.
struct GoldenNorm {
  const Golden& golden;
  std::string name;
  Tensor operator()(const std::string& tensor) const { return golden.tensor(name + "/" + tensor); }
  Tensors inputs() const { return {nchw_to_nhwc((*this)("input")), (*this)("weight"), (*this)("bias")}; }
  void expect(const testing::OpRun& run, double scale) const {
    EXPECT_TRUE(testing::tensor_near(nhwc_to_nchw(run.value), (*this)("output"), 1e-5 * scale, 1e-4)) << name;
    EXPECT_TRUE(
        testing::tensor_near(nhwc_to_nchw(run.gradients[0]), (*this)("grad_input"), 1e-5 * scale, 1e-4))
        << name;
    EXPECT_TRUE(testing::tensor_near(run.gradients[1], (*this)("grad_weight"), 1e-5 * scale, 1e-4)) << name;
    EXPECT_TRUE(testing::tensor_near(run.gradients[2], (*this)("grad_bias"), 1e-5 * scale, 1e-4)) << name;
  }
};

// The scale of the absolute tolerance. x - mean is known to a few units in the last place of x, and is then
// divided by the deviation: a mean of 1000, or a group without variance, leaves more than 1e-5. x (n, c, h,
// w), of whose channels `count` are normalised together, over all images or image by image.
double rounding_scale(const Tensor& x, int64_t count, bool over_images, double eps) {
  const std::vector<double> values = x.to_doubles();
  const int64_t area = x.dim(2) * x.dim(3), channels = x.dim(1);
  std::map<int64_t, std::vector<double>> groups;
  for (size_t k = 0; k < values.size(); ++k) {
    const int64_t plane = static_cast<int64_t>(k) / area;
    const int64_t group = plane % channels / count;
    groups[over_images ? group : group + plane / channels * channels].push_back(values[k]);
  }
  double worst = 0;
  for (const auto& [group, members] : groups) {
    double sum = 0, squares = 0, largest = 0;
    for (const double v : members) sum += v;
    const double mean = sum / static_cast<double>(members.size());
    for (const double v : members) {
      squares += (v - mean) * (v - mean);
      largest = std::max(largest, std::abs(v));
    }
    worst = std::max(worst, largest / std::sqrt(squares / static_cast<double>(members.size()) + eps));
  }
  return std::max(1.0, worst * 0x1p-21 / 1e-5);  // four units in the last place
}

TEST(BatchNorm, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"batch_norm"})) {
    const GoldenNorm norm{golden, name};
    const bool training = golden.flag(name, "training");
    const double momentum = training ? golden.number(name, "momentum") : 0.1;
    Buffer mean{norm("running_mean"), {}}, var{norm("running_var"), {}};
    const auto run = run_op(
        [&](const Variables& in) {
          return batch_norm(in[0], in[1], in[2], mean, var, training, momentum, golden.number(name, "eps"));
        },
        norm.inputs(), nchw_to_nhwc(norm("grad_output")));
    norm.expect(run, rounding_scale(norm("input"), 1, true, golden.number(name, "eps")));
    EXPECT_EQ(mean.staged.defined(), training);
    if (training) {
      expect_golden(mean.staged, norm("running_mean_after"), name);
      expect_golden(var.staged, norm("running_var_after"), name);
      EXPECT_TENSOR_EQ(mean.value, norm("running_mean"));  // untouched until the iteration commits
    }
  }
}

TEST(GroupNorm, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"group_norm"})) {
    const GoldenNorm norm{golden, name};
    const auto run = run_op(
        [&](const Variables& in) {
          return group_norm(in[0], in[1], in[2], golden.integer(name, "num_groups"),
                            golden.number(name, "eps"));
        },
        norm.inputs(), nchw_to_nhwc(norm("grad_output")));
    const Tensor x = norm("input");
    const int64_t channels = x.dim(1) / golden.integer(name, "num_groups");
    norm.expect(run, rounding_scale(x, channels, false, golden.number(name, "eps")));
  }
}

TEST(GroupNorm, AConstantGroupBecomesTheBias) {
  const Tensor x = Tensor::full({2, 5, 7, 6}, 7.25, DType::kF32), ones = Tensor::full({6}, 1, DType::kF32);
  EXPECT_TENSOR_EQ(group_norm(x, ones, ones, 2, 1e-5).value(), Tensor::full(x.shape(), 1, DType::kF32));
}

// All ways to run batch norm: training or not, with relu, with a residual.
struct Way {
  const char* name;
  bool training, relu, residual;
};
const Way kWays[] = {{"train", true, false, false},     {"eval", false, false, false},
                     {"train relu", true, true, false}, {"train residual", true, true, true},
                     {"eval relu", false, true, false}, {"eval residual", false, true, true}};

testing::Op batch_norm_way(const Way& way, int64_t channels) {
  return [way, channels](const Variables& in) {
    Buffers buffers(channels);
    if (!way.relu) {
      return batch_norm(in[0], in[1], in[2], buffers.mean, buffers.var, way.training, 0.1, 1e-5);
    }
    return batch_norm_relu(in[0], in[1], in[2], buffers.mean, buffers.var, way.training, 0.1, 1e-5,
                           way.residual ? in[3] : Variable());
  };
}

Tensors norm_inputs(const Shape& shape, bool residual) {
  const int64_t c = shape.back();
  Tensors inputs{uniform64(shape, -1, 3, 1), uniform64({c}, 0.5, 2, 2), uniform64({c}, -1, 1, 3)};
  if (residual) inputs.push_back(uniform64(shape, -1, 1, 4));
  return inputs;
}

TEST(BatchNorm, GradientsMatchFiniteDifferences) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    EXPECT_GRADCHECK(batch_norm_way(way, 3), norm_inputs({2, 3, 2, 3}, way.residual));
    EXPECT_GRADCHECK(batch_norm_way(way, 5), norm_inputs({7, 5}, way.residual));  // after a linear layer
  }
}

TEST(GroupNorm, GradientsMatchFiniteDifferences) {
  for (const int64_t groups : {1, 2, 6}) {
    EXPECT_GRADCHECK([groups](const Variables& in) { return group_norm(in[0], in[1], in[2], groups, 1e-5); },
                     norm_inputs({2, 3, 2, 6}, false));
  }
}

TEST(BatchNorm, FusedAgreesWithItsParts) {
  const Tensors in = norm_inputs({2, 5, 7, 24}, true);
  Buffers buffers(24);
  const Variable plain =
      relu(batch_norm(in[0], in[1], in[2], buffers.mean, buffers.var, false, 0.1, 1e-5) + Variable(in[3]));
  const Variable fused =
      batch_norm_inference_relu(in[0], in[1], in[2], buffers.mean.value, buffers.var.value, 1e-5, in[3]);
  EXPECT_TENSOR_NEAR(fused.value(), plain.value(), 1e-12, 1e-12);
}

class NormDTypes : public ::testing::TestWithParam<DType> {};

// The affine parameters stay f32 beside halves; only maps are in `dtype`.
void expect_norm_agrees(const testing::Op& op, const Shape& shape, bool residual, DType dtype) {
  Tensors inputs = norm_inputs(shape, residual), exact;
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = inputs[i].to(i == 1 || i == 2 ? DType::kF32 : dtype);
    exact.push_back(inputs[i].to(DType::kF64));
  }
  const Tensor grad = uniform(shape, -1, 1, 77).to(dtype);
  const auto actual = run_op(op, inputs, grad), expected = run_op(op, exact, grad);
  // A relu may fall on the other side of 0 for a few elements in f32.
  const double tolerance = 2 * testing::rounding_tolerance(dtype) + 1e-5;
  EXPECT_EQ(actual.value.dtype(), dtype);
  EXPECT_LE(testing::relative_l2(actual.value, expected.value), tolerance);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_LE(testing::relative_l2(actual.gradients[i], expected.gradients[i]), tolerance)
        << "gradient " << i;
  }
}

TEST_P(NormDTypes, BatchNormAgreesWithF64) {
  // Few channels (several rows at a time), odd ones, many; more than one chunk of rows.
  for (const Shape& shape : {Shape{2, 67, 61, 4}, {1, 33, 31, 37}, {2, 17, 19, 64}, {1, 5, 5, 700}}) {
    for (const Way& way : kWays) {
      SCOPED_TRACE(::testing::Message() << way.name << " " << to_string(shape));
      expect_norm_agrees(batch_norm_way(way, shape[3]), shape, way.residual, GetParam());
    }
  }
}

TEST_P(NormDTypes, GroupNormAgreesWithF64) {
  for (const Shape& shape : {Shape{2, 67, 61, 4}, {9, 7, 7, 64}, {1, 33, 31, 36}}) {
    SCOPED_TRACE(to_string(shape));
    expect_norm_agrees([](const Variables& in) { return group_norm(in[0], in[1], in[2], 4, 1e-5); }, shape,
                       false, GetParam());
  }
}

TEST_P(NormDTypes, EmptyBatchesLeaveStatisticsAlone) {
  Buffers buffers(4);
  const auto op = [&](const Variables& in) {
    return batch_norm(in[0], in[1], in[2], buffers.mean, buffers.var, true, 0.1, 1e-5);
  };
  const Tensor ones = Tensor::full({4}, 1, DType::kF32), none({0, 3, 3, 4}, GetParam());
  for (const testing::Op& norm : {testing::Op(op), testing::Op([](const Variables& in) {
                                    return group_norm(in[0], in[1], in[2], 2, 1e-5);
                                  })}) {
    const auto run = run_op(norm, {none, ones, ones}, none);
    EXPECT_EQ(run.value.shape(), none.shape());
    EXPECT_EQ(run.gradients[0].shape(), none.shape());
    EXPECT_TENSOR_EQ(run.gradients[1], Tensor::zeros({4}, DType::kF32));
  }
  EXPECT_FALSE(buffers.mean.staged.defined());
  EXPECT_FALSE(buffers.var.staged.defined());
}

INSTANTIATE_TEST_SUITE_P(All, NormDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(BatchNorm, SurvivesAMeanThatDwarfsTheDeviation) {
  const Tensor x = uniform({1, 64, 64, 8}, 9999.5, 10000.5, 1);
  Buffers buffers(8);
  const Tensor one = Tensor::full({8}, 1, DType::kF32), zero = Tensor::zeros({8}, DType::kF32);
  const Tensor y = batch_norm(x, one, zero, buffers.mean, buffers.var, true, 1.0, 0).value();
  const Tensor exact =
      batch_norm(x.to(DType::kF64), one, zero, buffers.mean, buffers.var, true, 1.0, 0).value();
  EXPECT_LE(testing::relative_l2(y, exact), 3e-3);  // f32 resolves 1e-3 at 10000
}

// "Same thread count" is what a resumed run may rely on; sums by fixed chunks hold for any.
TEST(BatchNorm, DoesNotDependOnTheNumberOfThreads) {
  const Tensors in = norm_inputs({2, 61, 59, 24}, false);
  const Tensors f32{in[0].to(DType::kF32), in[1].to(DType::kF32), in[2].to(DType::kF32)};
  const Tensor grad = uniform(in[0].shape(), -1, 1, 5);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = run_op(batch_norm_way(kWays[2], 24), f32, grad);
  omp_set_num_threads(3);
  const auto three = run_op(batch_norm_way(kWays[2], 24), f32, grad);
  omp_set_num_threads(before);
  EXPECT_TRUE(bitwise_equal(one.value, three.value));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(bitwise_equal(one.gradients[i], three.gradients[i]));
}

TEST(BatchNorm, RecomputationStagesNothing) {
  Buffers buffers(4);
  int runs = 0;
  const auto block = [&](const Variables& in) {
    ++runs;
    return batch_norm(in[0], Tensor::full({4}, 1, DType::kF32), Tensor::zeros({4}, DType::kF32), buffers.mean,
                      buffers.var, true, 0.1, 1e-5);
  };
  const Variable x(uniform({2, 3, 3, 4}, -1, 1, 1), true);
  const Variable y = checkpoint(block, {x});
  const Tensor staged = buffers.mean.staged.clone();
  y.backward(uniform(y.shape(), -1, 1, 2));
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(bitwise_equal(buffers.mean.staged, staged));

  Variable plain(x.value(), true);
  block({plain}).backward(uniform(y.shape(), -1, 1, 2));
  EXPECT_TRUE(bitwise_equal(plain.grad(), x.grad()));
}

TEST(BatchNorm, ASecondForwardOfAWindowBuildsOnTheFirst) {
  Buffers buffers(2);
  const Tensor one = Tensor::full({2}, 1, DType::kF64), x = uniform64({4, 2}, -1, 1, 1);
  batch_norm(x, one, one, buffers.mean, buffers.var, true, 0.5, 1e-5);
  const std::vector<double> first = buffers.mean.staged.to_doubles();
  batch_norm(x, one, one, buffers.mean, buffers.var, true, 0.5, 1e-5);
  const std::vector<double> second = buffers.mean.staged.to_doubles(),
                            start = buffers.mean.value.to_doubles();
  for (int c = 0; c < 2; ++c) {
    const double batch = 2 * first[c] - start[c];
    EXPECT_NEAR(second[c], 0.5 * first[c] + 0.5 * batch, 1e-12);
  }
}

TEST(Norm, ErrorsNameTheOpAndBothShapes) {
  const Tensor x({1, 2, 2, 6}, DType::kF32), wrong({5}, DType::kF32), right({6}, DType::kF32);
  Buffers buffers(6);
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] { batch_norm(x, wrong, right, buffers.mean, buffers.var, true, 0.1, 1e-5); }),
            "batch_norm: weight (5) and bias (6) beside x (1, 2, 2, 6)");
  EXPECT_EQ(message([&] { group_norm(x, right, right, 4, 1e-5); }),
            "group_norm: 4 groups do not divide x (1, 2, 2, 6)");
}

}  // namespace
}  // namespace osprey
