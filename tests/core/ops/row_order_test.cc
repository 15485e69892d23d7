#include "core/ops/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/devices.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::devices_in_build;

TEST(RowOrder, RanksByScoreStablyWithNaNLast) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor scores = Tensor::from<float>({0.5f, nan, -0.0f, inf, 0.0f, -inf, 0.5f, -3, 7}, {9});
  for (const Device device : devices_in_build()) {
    EXPECT_TENSOR_EQ(rows_by_score(scores.to(device)),
                     (Tensor::from<int64_t>({3, 8, 0, 6, 2, 4, 7, 1, 5}, {9})));
    EXPECT_TENSOR_EQ(top_rows(scores.to(device), 3), (Tensor::from<int64_t>({3, 8, 0}, {3})));
    EXPECT_EQ(top_rows(scores.to(device), 0).shape(), (Shape{0}));
    EXPECT_EQ(rows_by_score(Tensor({0}, DType::kF32, device)).shape(), (Shape{0}));
  }
}

TEST(RowOrder, RanksManyScoresWithTiesAsAStableSort) {
  Tensor scores = testing::uniform({30011}, -1, 1, 5);
  float* score = scores.mutable_data<float>();
  for (int64_t i = 0; i < scores.numel(); ++i) score[i] = std::floor(score[i] * 200) / 200;
  std::vector<int64_t> expected(scores.numel());
  std::iota(expected.begin(), expected.end(), int64_t{0});
  std::stable_sort(expected.begin(), expected.end(),
                   [&](int64_t a, int64_t b) { return score[a] > score[b]; });
  for (const Device device : devices_in_build()) {
    EXPECT_EQ(rows_by_score(scores.to(device)).to_vector<int64_t>(), expected);
    EXPECT_EQ(top_rows(scores.to(device), 2000).to_vector<int64_t>(),
              std::vector<int64_t>(expected.begin(), expected.begin() + 2000));
  }
}

TEST(RowOrder, SelectsFlaggedRowsInOrder) {
  std::vector<uint8_t> flags(5003);
  std::vector<int64_t> expected;
  for (size_t i = 0; i < flags.size(); ++i) {
    flags[i] = i % 7 == 3 || i % 11 == 0;
    if (flags[i]) expected.push_back(static_cast<int64_t>(i));
  }
  for (const Device device : devices_in_build()) {
    const SelectedRows selected = select_rows(Tensor::from(flags, {-1}).to(device));
    const int64_t count = selected.count.to_vector<int64_t>()[0];
    EXPECT_EQ(selected.rows.slice(0, count).to_vector<int64_t>(), expected);
    EXPECT_EQ(select_rows(Tensor({0}, DType::kU8, device)).count.item(), 0);
    EXPECT_EQ(select_rows(Tensor::zeros({40}, DType::kU8, device)).count.item(), 0);
  }
}

TEST(RowOrder, RefusesWrongInputs) {
  EXPECT_THROW(top_rows(Tensor({3}, DType::kF32), 4), Error);
  EXPECT_THROW(rows_by_score(Tensor({3, 1}, DType::kF32)), Error);
  EXPECT_THROW(select_rows(Tensor({3}, DType::kI64)), Error);
}

}  // namespace
}  // namespace osprey
