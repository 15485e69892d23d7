#include "core/ops/row_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/autograd/gradcheck.h"
#include "tests/devices.h"
#include "tests/golden.h"

namespace osprey {
namespace {

class RowOps : public ::testing::TestWithParam<Device> {
 protected:
  Tensor here(const Tensor& tensor) const { return tensor.to(GetParam()); }
};

TEST_P(RowOps, ScaleEveryRowByItsWeight) {
  const Variable x(here(Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 1, 2})), true);
  const Tensor weights = Tensor::from<float>({2, 0, -1}, {3});  // wherever they lie
  const Variable y = scale_rows(x, weights);
  EXPECT_EQ(y.value().to_doubles(), (std::vector<double>{2, 4, 0, 0, -5, -6}));
  y.backward(here(Tensor::full({3, 1, 2}, 1, DType::kF32)));
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{2, 2, 0, 0, -1, -1}));
  EXPECT_THROW(scale_rows(x, Tensor({2}, DType::kF32)), Error);
}

TEST_P(RowOps, SumAndMean) {
  const Variable x(here(Tensor::from<float>({1, 2, 3, 4, 5, 9}, {2, 3})), true);
  const Variable sums = sum_of_rows(x);
  EXPECT_EQ(sums.value().to_doubles(), (std::vector<double>{6, 18}));
  sums.backward(here(Tensor::from<float>({1, -2}, {2})));
  EXPECT_EQ(x.grad().to_doubles(), (std::vector<double>{1, 1, 1, -2, -2, -2}));
  EXPECT_EQ(mean_of_rows(x.value()).to_doubles(), (std::vector<double>{2, 6}));
}

TEST_P(RowOps, LargestOfTheFirstColumns) {
  const Tensor x = here(Tensor::from<float>({1, 3, 2, 9, -4, -5, -6, 0}, {2, 4}));
  EXPECT_EQ(max_of_rows(x, 3).to_doubles(), (std::vector<double>{3, -4}));
  EXPECT_EQ(max_of_rows(x, 4).to_doubles(), (std::vector<double>{9, 0}));
  EXPECT_EQ(max_of_rows(here(Tensor({0, 4}, DType::kF32)), 2).shape(), (Shape{0}));
  EXPECT_THROW(max_of_rows(x, 5), Error);
}

TEST_P(RowOps, AZeroColumnComesLast) {
  const Tensor x = here(Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(with_zero_column(x).to_doubles(), (std::vector<double>{1, 2, 0, 3, 4, 0}));
  EXPECT_EQ(with_zero_column(here(Tensor({0, 4}, DType::kF32))).shape(), (Shape{0, 5}));
}

TEST_P(RowOps, OneHotOfBackgroundIsZero) {
  const Tensor labels = here(Tensor::from<int64_t>({1, 3, -1, 0}, {4}));
  EXPECT_EQ(one_hot(labels, 3).to_doubles(), (std::vector<double>{0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(one_hot(here(Tensor::from<uint8_t>({1}, {1})), 2).to_doubles(), (std::vector<double>{0, 1}));
}

TEST_P(RowOps, MaskOfIgnoredLabelsKeepsTheirShape) {
  const Tensor mask = unless_equal(here(Tensor::from<uint8_t>({0, 255, 7, 255}, {2, 2})), 255);
  EXPECT_EQ(mask.shape(), (Shape{2, 2}));
  EXPECT_EQ(mask.to_doubles(), (std::vector<double>{1, 0, 1, 0}));
}

TEST_P(RowOps, HitsCountTheScoresAhead) {
  const float nan = std::nanf("");
  const Tensor scores = here(Tensor::from<float>({1, 3, 2, 5, 5, 0, 1, nan, 0, 9, 1, 1}, {4, 3}));
  const Tensor labels = here(Tensor::from<int64_t>({2, 1, 0, 3}, {4}));
  EXPECT_EQ(topk_hits(scores, labels, 1).to_doubles(), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(topk_hits(scores, labels, 2).to_doubles(), (std::vector<double>{1, 1, 0, 0}));
}

TEST_P(RowOps, TheMeanOverNothingIsZero) {
  const Variable total(here(Tensor::full({}, 6, DType::kF32)), true);
  const Tensor count = here(Tensor::full({}, 4, DType::kF32)), none = here(Tensor::zeros({}, DType::kF32));
  EXPECT_EQ(divide_by_count(total, count).value().item(), 1.5);
  const Variable nothing = divide_by_count(total, none);
  EXPECT_EQ(nothing.value().item(), 0);
  nothing.backward();
  EXPECT_EQ(total.grad().item(), 0);
}

TEST_P(RowOps, EmptyInputsGiveEmptyOutputs) {
  const Tensor none = here(Tensor({0, 4}, DType::kF32)), no_labels = here(Tensor({0}, DType::kI64));
  EXPECT_EQ(scale_rows(none, Tensor({0}, DType::kF32)).shape(), (Shape{0, 4}));
  EXPECT_EQ(sum_of_rows(none).shape(), (Shape{0}));
  EXPECT_EQ(mean_of_rows(none).shape(), (Shape{0}));
  EXPECT_EQ(one_hot(no_labels, 3).shape(), (Shape{0, 3}));
  EXPECT_EQ(unless_equal(no_labels, 3).shape(), (Shape{0}));
  EXPECT_EQ(topk_hits(none, no_labels, 1).shape(), (Shape{0}));
}

TEST(RowOpsTape, GradientsMatchFiniteDifferences) {
  const Tensor x = testing::uniform({3, 4}, -1, 1, 1).to(DType::kF64), w = testing::uniform({3}, -1, 1, 2);
  EXPECT_GRADCHECK([&](const Variables& in) { return scale_rows(in[0], w); }, {x});
  EXPECT_GRADCHECK([](const Variables& in) { return sum_of_rows(in[0]); }, {x});
}

INSTANTIATE_TEST_SUITE_P(Devices, RowOps, ::testing::ValuesIn(testing::devices_in_build()),
                         [](const auto& info) { return testing::device_name(info.param); });

}  // namespace
}  // namespace osprey
