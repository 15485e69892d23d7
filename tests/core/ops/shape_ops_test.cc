#include "core/ops/shape_ops.h"

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::uniform;

Tensor uniform64(Shape shape, uint64_t seed) {
  return uniform(std::move(shape), -1, 1, seed).to(DType::kF64);
}
Tensor indices(const std::vector<int64_t>& values) {
  return Tensor::from(values, {static_cast<int64_t>(values.size())});
}

TEST(ShapeOps, GradientsMatchFiniteDifferences) {
  const Tensor x = uniform64({4, 2, 3}, 1), y = uniform64({2, 2, 3}, 2), none({0, 2, 3}, DType::kF64);
  EXPECT_GRADCHECK([](const Variables& in) { return reshape(in[0], {6, -1}); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return concat({in[0], in[1], in[2], in[0]}); }, {x, none, y});
  for (const auto& [begin, end] : {std::pair{0, 4}, {1, 3}, {2, 2}, {0, 1}, {3, 4}}) {
    EXPECT_GRADCHECK([b = begin, e = end](const Variables& in) { return slice_rows(in[0], b, e); }, {x});
  }
  EXPECT_GRADCHECK([](const Variables& in) { return gather_rows(in[0], indices({3, 0, 3, 1, 3})); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return gather_rows(in[0], indices({})); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return gather_channel(in[0], indices({2, 0, 1, 2})); }, {x});
  EXPECT_GRADCHECK(
      [](const Variables& in) {
        return gather_group(in[0], indices({2, 0, 1}), 4);
      },
      {uniform64({3, 12}, 3)});
}

TEST(OpTests, RunOnPoisonedMemory) {
  for (const int64_t n : {5, 100000}) {
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
      EXPECT_TRUE(std::isnan(Tensor({n}, dtype).slice(n - 1, n).item())) << dtype;
    }
  }
}

TEST(ShapeOps, PickWhatTheirContractSays) {
  const Tensor x = Tensor::from({0.f, 1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f}, {2, 2, 2});
  EXPECT_TENSOR_EQ(gather_channel(x, indices({1, 0})).value(), Tensor::from({1.f, 3.f, 4.f, 6.f}, {2, 2}));
  EXPECT_TENSOR_EQ(gather_group(reshape(x, {2, 4}), indices({1, 0}), 2).value(),
                   Tensor::from({2.f, 3.f, 4.f, 5.f}, {2, 2}));
  EXPECT_TENSOR_EQ(gather_rows(x, indices({1})).value(), Tensor::from({4.f, 5.f, 6.f, 7.f}, {1, 2, 2}));
}

// Labels and flags are picked as boxes are.
TEST(ShapeOps, GatherRowsOfEveryType) {
  for (const Device device : testing::devices_in_build()) {
    for (const DType dtype :
         {DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kU8, DType::kBool}) {
      const Tensor x = Tensor::from({1.f, 0.f, 0.f, 1.f, 1.f, 1.f}, {3, 2}).to(dtype).to(device);
      const Tensor picked = gather_rows(x, indices({2, 0}).to(device)).value();
      EXPECT_EQ(picked.dtype(), dtype);
      EXPECT_TENSOR_EQ(picked, Tensor::from({1.f, 1.f, 1.f, 0.f}, {2, 2})) << dtype << " on " << device;
    }
  }
}

class ShapeOpsDTypes : public ::testing::TestWithParam<DType> {};

TEST_P(ShapeOpsDTypes, RepeatedRowsAddUpInF32) {
  // 300 halves of 1 + 2^-9 each would stall when summed in bf16 or f16.
  const int64_t k = 300;
  const Variable x(Tensor::zeros({2, 3}, GetParam()), true);
  const double term = Tensor::full({1}, 1.001953125, GetParam()).item();
  gather_rows(x, Tensor::zeros({k}, DType::kI64)).backward(Tensor::full({k, 3}, term, GetParam()));
  const double expected = Tensor::full({1}, term * k, GetParam()).item();
  const Tensors rows{Tensor::full({1, 3}, expected, DType::kF64), Tensor::zeros({1, 3}, DType::kF64)};
  EXPECT_TENSOR_EQ(x.grad(), concat(rows));
}

TEST_P(ShapeOpsDTypes, NoRowsStayNoRows) {
  const Tensor none({0, 4, 6}, GetParam()), no_index({0}, DType::kI64);
  EXPECT_EQ(gather_channel(none, no_index).shape(), (Shape{0, 4}));
  EXPECT_EQ(gather_group(none.reshape({0, 24}), no_index, 4).shape(), (Shape{0, 4}));
  EXPECT_EQ(gather_rows(none, no_index).shape(), none.shape());
  EXPECT_EQ(concat(Variables{none, none}).shape(), none.shape());
}

INSTANTIATE_TEST_SUITE_P(All, ShapeOpsDTypes, ::testing::Values(DType::kF32, DType::kBF16, DType::kF16),
                         [](const auto& info) { return name_of(info.param); });

TEST(ShapeOps, AnIndexOutsideIsAnErrorThatNamesIt) {
  try {
    gather_rows(Tensor({4, 2}, DType::kF32), indices({0, 4}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "gather_rows: index 4 at 1 is outside [0, 4) of x (4, 2)");
  }
  EXPECT_THROW(gather_channel(Tensor({1, 2}, DType::kF32), indices({-1})), Error);
  EXPECT_THROW(gather_group(Tensor({1, 8}, DType::kF32), indices({2}), 4), Error);
}

}  // namespace
}  // namespace osprey
