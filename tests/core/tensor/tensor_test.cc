#include "core/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace osprey {
namespace {

constexpr DType kEveryDType[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                                 DType::kI64, DType::kI32, DType::kU8,  DType::kBool};

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tensor, FillAndReadBackEveryDType) {
  for (const DType dtype : kEveryDType) {
    const Tensor ones = Tensor::full({2, 3}, 1, dtype);
    EXPECT_EQ(ones.dtype(), dtype);
    EXPECT_EQ(ones.bytes(), 6 * size_of(dtype));
    EXPECT_EQ(ones.to_doubles(), std::vector<double>(6, 1.0)) << dtype;
    EXPECT_TRUE(bitwise_equal(ones.to(DType::kF64).to(dtype), ones)) << dtype;
    EXPECT_EQ(Tensor::full({}, 1, dtype).item(), 1) << dtype;
  }
}

TEST(Tensor, FromKeepsRowMajorOrder) {
  const Tensor tensor = Tensor::from({1, 2, 3, 4, 5, 6}, {2, -1});
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor[1].to_vector<int32_t>(), (std::vector<int32_t>{4, 5, 6}));
}

TEST(Tensor, ViewsShareTheStorage) {
  Tensor tensor = Tensor::zeros({4, 3}, DType::kF32);
  Tensor rows = tensor.slice(1, 3);
  EXPECT_TRUE(rows.shares_storage(tensor));
  rows.fill(5);
  EXPECT_EQ(tensor.to_doubles(), (std::vector<double>{0, 0, 0, 5, 5, 5, 5, 5, 5, 0, 0, 0}));
  EXPECT_TRUE(tensor.reshape({2, 6}).shares_storage(tensor));
  EXPECT_FALSE(tensor.clone().shares_storage(tensor));
  EXPECT_TRUE(tensor.to(DType::kF32).shares_storage(tensor));  // nothing to convert
  EXPECT_EQ(rows.slice(1, 2)[0].shape(), (Shape{3}));          // a view of a view
}

TEST(Tensor, EmptyTensorsAreOrdinary) {
  for (const DType dtype : kEveryDType) {
    Tensor none = Tensor::full({0, 3}, 1, dtype);
    none.fill(2);
    EXPECT_TRUE(none.empty());
    EXPECT_TRUE(none.to_doubles().empty());
    EXPECT_EQ(none.reshape({3, -1}).shape(), (Shape{3, 0}));
    EXPECT_TRUE(bitwise_equal(none.clone(), none));
    EXPECT_TRUE(all_finite(none));
    EXPECT_EQ(concat({none, Tensor::full({2, 3}, 1, dtype), none}).shape(), (Shape{2, 3}));
  }
}

TEST(Tensor, ConcatJoinsRows) {
  const Tensor joined = concat({Tensor::full({1, 2}, 1, DType::kF16), Tensor::full({2, 2}, 2, DType::kF16)});
  EXPECT_EQ(joined.to_doubles(), (std::vector<double>{1, 1, 2, 2, 2, 2}));
}

TEST(Tensor, BitwiseEqualSeesShapeDTypeAndSignOfZero) {
  const Tensor a = Tensor::zeros({2}, DType::kF32);
  EXPECT_TRUE(bitwise_equal(a, a.clone()));
  EXPECT_FALSE(bitwise_equal(a, Tensor::zeros({1, 2}, DType::kF32)));
  EXPECT_FALSE(bitwise_equal(a, Tensor::zeros({2}, DType::kF16)));
  EXPECT_FALSE(bitwise_equal(a, Tensor::full({2}, -0.0, DType::kF32)));
  EXPECT_TRUE(bitwise_equal(Tensor(), Tensor()));
  EXPECT_FALSE(bitwise_equal(a, Tensor()));
}

TEST(Tensor, AllFiniteFindsOneBadElementAnywhere) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (const double bad : {inf, -inf, std::nan("")}) {
      for (const int64_t at : {0, 50000, 99999}) {
        Tensor tensor = Tensor::full({100000}, 1, dtype);
        EXPECT_TRUE(all_finite(tensor));
        tensor.slice(at, at + 1).fill(bad);
        EXPECT_FALSE(all_finite(tensor)) << dtype << " " << bad << " at " << at;
      }
    }
  }
  EXPECT_TRUE(all_finite(Tensor::full({3}, 1e38, DType::kF32)));  // a sum of these would overflow
  EXPECT_TRUE(all_finite(Tensor::full({3}, 7, DType::kI64)));
}

TEST(Tensor, ErrorsSayWhatWasAskedOfWhat) {
  const Tensor tensor = Tensor::zeros({2, 3}, DType::kF32);
  EXPECT_EQ(message_of([&] { tensor.data<double>(); }), "data: asked for f64, the tensor is f32 (2, 3) cpu");
  EXPECT_EQ(message_of([&] { tensor.slice(1, 3); }), "slice: rows [1, 3) of f32 (2, 3) cpu");
  EXPECT_EQ(message_of([&] { tensor.reshape({4, 2}); }), "reshape: (2, 3) cannot become (4, 2)");
  EXPECT_EQ(message_of([&] { tensor.reshape({-1, -1}); }), "reshape: more than one -1 in (-1, -1)");
  EXPECT_EQ(message_of([&] { tensor.item(); }), "item: needs one element, got f32 (2, 3) cpu");
  EXPECT_EQ(message_of([&] { tensor.dim(2); }), "dim: axis 2 is outside shape (2, 3)");
  EXPECT_EQ(message_of([] { Tensor().raw(); }), "raw: the tensor is undefined");
  EXPECT_EQ(message_of([] { Tensor({2, -3}, DType::kF32); }), "negative extent in shape (2, -3)");
  EXPECT_EQ(message_of([] { Tensor::from({1.f, 2.f}, {3}); }), "from: 2 values do not fill shape (3)");
}

}  // namespace
}  // namespace osprey
