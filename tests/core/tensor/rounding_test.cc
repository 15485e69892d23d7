#include <cmath>
#include <cstring>
#include <limits>

#include "core/tensor/convert.h"
#include "tests/golden.h"

namespace osprey {
namespace {

// The table of PyTorch's conversions, as bit patterns.
struct Table {
  std::vector<int32_t> f32, f16, bf16, f16_back, bf16_back;
  Table() {
    const testing::Golden golden = testing::Golden::open("ops/float_rounding");
    const auto column = [&](const char* name) {
      return golden.tensor(std::string("table/") + name).to_vector<int32_t>();
    };
    f32 = column("f32_bits");
    f16 = column("f16_bits");
    bf16 = column("bf16_bits");
    f16_back = column("f16_back_bits");
    bf16_back = column("bf16_back_bits");
  }
};

float float_of(int32_t bits) { return internal::bits_to_float(static_cast<uint32_t>(bits)); }

Tensor floats_of(const std::vector<int32_t>& bits) {
  Tensor values({static_cast<int64_t>(bits.size())}, DType::kF32);
  std::memcpy(values.mutable_raw(), bits.data(), values.bytes());
  return values;
}

// NaN inputs only have to stay NaN; everything else agrees bit by bit.
template <typename T>
void expect_bits(const Tensor& rounded, const std::vector<int32_t>& expected,
                 const std::vector<int32_t>& back, const std::vector<int32_t>& inputs) {
  const T* values = rounded.data<T>();
  const Tensor widened = rounded.to(DType::kF32);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float restored = widened.data<float>()[i];
    if (std::isnan(float_of(inputs[i]))) {
      ASSERT_TRUE(std::isnan(restored)) << i;
      continue;
    }
    ASSERT_EQ(values[i].bits, static_cast<uint16_t>(expected[i])) << float_of(inputs[i]);
    ASSERT_EQ(internal::float_to_bits(restored), static_cast<uint32_t>(back[i])) << float_of(inputs[i]);
  }
}

TEST(Rounding, TensorsRoundAsPyTorchDoes) {
  const Table table;
  const Tensor values = floats_of(table.f32);
  ASSERT_GT(values.numel(), 4000);
  expect_bits<Half>(values.to(DType::kF16), table.f16, table.f16_back, table.f32);
  expect_bits<BFloat16>(values.to(DType::kBF16), table.bf16, table.bf16_back, table.f32);
}

// Scalars, and the code for machines without F16C, must round as the vector units do.
TEST(Rounding, EveryConversionAgrees) {
  const Table table;
  for (size_t i = 0; i < table.f32.size(); ++i) {
    const float value = float_of(table.f32[i]);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(internal::half_bits_to_float(internal::float_to_half_bits(value))));
      continue;
    }
    ASSERT_EQ(Half(value).bits, static_cast<uint16_t>(table.f16[i])) << value;
    ASSERT_EQ(internal::float_to_half_bits(value), static_cast<uint16_t>(table.f16[i])) << value;
    ASSERT_EQ(BFloat16(value).bits, static_cast<uint16_t>(table.bf16[i])) << value;
  }
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const Half half = Half::from_bits(static_cast<uint16_t>(bits));
    const float value = static_cast<float>(half), portable = internal::half_bits_to_float(half.bits);
    ASSERT_TRUE(value == portable || (std::isnan(value) && std::isnan(portable))) << bits;
  }
}

TEST(Rounding, HalfOverflowsAbove65504) {
  const Tensor values = Tensor::from({65504.f, 65519.f, 65520.f, -65520.f, 1e-8f}, {5});
  const std::vector<double> rounded = values.to(DType::kF16).to_doubles();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(rounded, (std::vector<double>{65504, 65504, inf, -inf, 0}));
}

// f16 -> bf16 and f64 -> f16 have no vector path of their own.
TEST(Rounding, OtherPairsGoThroughF32) {
  const Tensor values = testing::uniform({1001}, -4, 4, 1);
  EXPECT_TRUE(bitwise_equal(values.to(DType::kF16).to(DType::kBF16),
                            values.to(DType::kF16).to(DType::kF32).to(DType::kBF16)));
  EXPECT_TRUE(bitwise_equal(values.to(DType::kF64).to(DType::kF16), values.to(DType::kF16)));
  EXPECT_EQ(Tensor::from({-1.7f, 0.f, 2.9f}, {3}).to(DType::kI64).to_vector<int64_t>(),
            (std::vector<int64_t>{-1, 0, 2}));
}

// Vector blocks of eight, and every length of tail.
TEST(Rounding, TailsAreConverted) {
  for (int64_t n = 0; n < 40; ++n) {
    const Tensor values = testing::uniform({n}, -4, 4, 2);
    const Tensor half = values.to(DType::kF16);
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(half.data<Half>()[i].bits, Half(values.data<float>()[i]).bits) << i << " of " << n;
    }
  }
}

}  // namespace
}  // namespace osprey
