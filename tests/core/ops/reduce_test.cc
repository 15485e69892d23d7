#include "core/ops/reduce.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::uniform;

TEST(Reduce, GradientsMatchFiniteDifferences) {
  const Tensor x = uniform({3, 5}, -1, 1, 1).to(DType::kF64);
  EXPECT_GRADCHECK([](const Variables& in) { return sum(in[0]); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return mean(in[0]); }, {x});
}

TEST(Reduce, AnEmptyMeanIsZeroWithAZeroGradient) {
  const Variable x(Tensor({0, 4}, DType::kF32), true);
  EXPECT_EQ(mean(x).value().item(), 0);
  EXPECT_EQ(sum(x).value().item(), 0);
  mean(x).backward();
  EXPECT_EQ(x.grad().shape(), (Shape{0, 4}));
}

class ReduceDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(ReduceDTypes, SumsLongTensorsAccurately) {
  const DType dtype = GetParam();
  for (const int64_t n : {1, 7, 63, 64, 65, 1000, 300001}) {
    const Tensor x = uniform({n}, 0, 1, 1).to(dtype);
    double exact = 0;
    for (const double v : x.to_doubles()) exact += v;
    const Variable total = sum(x), average = mean(x);
    EXPECT_EQ(total.dtype(), DType::kF32);
    EXPECT_NEAR(total.value().item(), exact, 6e-8 * exact + 1e-12) << n;
    EXPECT_NEAR(average.value().item(), exact / n, 3 * 6e-8 * exact / n) << n;  // sum, 1 / n, product
  }
}

TEST_P(ReduceDTypes, GradientsHaveTheInputsDType) {
  const Variable x(Tensor::full({4, 3}, 1, GetParam()), true);
  mean(x).backward(24);
  EXPECT_EQ(x.grad().dtype(), GetParam());
  EXPECT_TENSOR_EQ(x.grad(), Tensor::full({4, 3}, 2, GetParam()));
}

TEST_P(ReduceDTypes, SoftmaxRowsSumToOneAndNeverOverflow) {
  Tensor x = uniform({33, 81}, -5, 5, 2).to(GetParam());
  x.slice(0, 1).fill(60000);
  const Tensor y = softmax_rows(x);
  EXPECT_EQ(y.dtype(), DType::kF32);
  for (int64_t row = 0; row < 33; ++row) {
    double total = 0;
    for (const double v : y[row].to_doubles()) total += v;
    EXPECT_NEAR(total, 1, 1e-5);
  }
  EXPECT_NEAR(y[0].to_doubles()[0], 1.0 / 81, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(All, ReduceDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(Reduce, SoftmaxRowsAgreesWithTheReference) {
  const testing::Golden golden = testing::Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"softmax"})) {
    const auto as_rows = [&](const Tensor& x) {  // the reference's axis 1 last
      const Tensor last = x.rank() == 4 ? testing::nchw_to_nhwc(x) : x;
      return last.reshape({-1, last.shape().back()});
    };
    ASSERT_EQ(golden.integer(name, "dim"), 1);
    EXPECT_TENSOR_NEAR(softmax_rows(as_rows(golden.tensor(name + "/input"))),
                       as_rows(golden.tensor(name + "/output")), 1e-6, 1e-5);
  }
}

TEST(Reduce, ArgmaxTakesTheFirstOfEquals) {
  const Tensor x = Tensor::from({1.f, 3.f, 3.f, -1.f, -2.f, -1.f}, {2, 3});
  EXPECT_EQ(argmax_rows(x).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(argmax_rows(Tensor({0, 3}, DType::kF32)).shape(), (Shape{0}));
}

}  // namespace
}  // namespace osprey
