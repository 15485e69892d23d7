#include "core/ops/linear.h"

#include "core/autograd/gradcheck.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::expect_agrees_with_f64;
using testing::expect_golden;
using testing::Golden;
using testing::run_op;
using testing::uniform;

Variable apply(const Variables& in) { return linear(in[0], in[1], in.size() > 2 ? in[2] : Variable()); }

TEST(Linear, AgreesWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"linear"})) {
    const auto tensor = [&](const char* key) { return golden.tensor(name + "/" + key); };
    const bool has_bias = golden.has(name + "/bias");
    Tensors inputs{tensor("input"), tensor("weight")};
    if (has_bias) inputs.push_back(tensor("bias"));
    const auto run = run_op(apply, inputs, tensor("grad_output"));
    expect_golden(run.value, tensor("output"), name + "/output");
    expect_golden(run.gradients[0], tensor("grad_input"), name + "/grad_input");
    expect_golden(run.gradients[1], tensor("grad_weight"), name + "/grad_weight");
    if (has_bias) expect_golden(run.gradients[2], tensor("grad_bias"), name + "/grad_bias");
  }
}

TEST(Linear, GradientsMatchFiniteDifferences) {
  const Tensor x = uniform({3, 2, 1, 3}, -1, 1, 1).to(DType::kF64);  // a map is taken as rows
  const Tensor weight = uniform({5, 6}, -1, 1, 2).to(DType::kF64),
               bias = uniform({5}, -1, 1, 3).to(DType::kF64);
  EXPECT_GRADCHECK(apply, {x, weight, bias});
  EXPECT_GRADCHECK(apply, {x, weight});
}

class LinearDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(LinearDTypes, AgreesWithF64ToRounding) {
  for (const auto& [rows, in, out] : {std::array{1, 1, 1}, {67, 200, 131}, {5, 1030, 4}, {130, 33, 81}}) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << in << " x " << out);
    expect_agrees_with_f64(
        apply, {uniform({rows, in}, -1, 1, 1), uniform({out, in}, -1, 1, 2), uniform({out}, -1, 1, 3)},
        GetParam());
  }
}

TEST_P(LinearDTypes, NoRowsGiveNoResultAndZeroGradients) {
  const DType dtype = GetParam();
  const auto run =
      run_op(apply, {Tensor({0, 6}, dtype), Tensor::full({4, 6}, 1, dtype), Tensor::full({4}, 1, dtype)},
             Tensor({0, 4}, dtype));
  EXPECT_EQ(run.value.shape(), (Shape{0, 4}));
  EXPECT_EQ(run.gradients[0].shape(), (Shape{0, 6}));
  EXPECT_TENSOR_EQ(run.gradients[1], Tensor::zeros({4, 6}, dtype));
  EXPECT_TENSOR_EQ(run.gradients[2], Tensor::zeros({4}, dtype));
}

TEST_P(LinearDTypes, MatmulTransposesEitherSide) {
  const Tensor a = uniform({3, 4}, -1, 1, 1).to(GetParam()), b = uniform({4, 5}, -1, 1, 2).to(GetParam());
  const Tensor at = uniform({4, 3}, -1, 1, 3).to(GetParam()), bt = uniform({5, 4}, -1, 1, 4).to(GetParam());
  const double tolerance = testing::rounding_tolerance(GetParam());
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Tensor& left = ta ? at : a;
      const Tensor& right = tb ? bt : b;
      const Tensor exact = matmul(left.to(DType::kF64), right.to(DType::kF64), ta, tb);
      EXPECT_LE(testing::relative_l2(matmul(left, right, ta, tb), exact), tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinearDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(Linear, ErrorsNameTheOpAndBothShapes) {
  try {
    linear(Tensor({2, 5}, DType::kF32), Tensor({3, 4}, DType::kF32), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "linear: x (2, 5) does not fit weight (3, 4)");
  }
}

}  // namespace
}  // namespace osprey
