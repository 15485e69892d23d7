#include "core/autograd/checkpoint.h"

#include "core/autograd/gradcheck.h"
#include "core/ops/elementwise.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::uniform;

Variable block(const Variables& in) { return sigmoid(in[0] * in[1]) + relu(in[0]); }

TEST(Checkpoint, GradientsMatchFiniteDifferences) {
  const Tensor a = uniform({3, 4}, -1, 1, 1).to(DType::kF64), b = uniform({3, 4}, -1, 1, 2).to(DType::kF64);
  EXPECT_GRADCHECK([](const Variables& in) { return checkpoint(block, in); }, {a, b});
  // Nested, and with a value that goes on in two ways.
  EXPECT_GRADCHECK(
      [](const Variables& in) {
        const Variable inner = checkpoint(block, in);
        return checkpoint([](const Variables& deeper) { return checkpoint(block, deeper) * deeper[0]; },
                          {inner, in[1]});
      },
      {a, b});
}

TEST(Checkpoint, GivesTheSameBitsAsTheFunctionItself) {
  const Variable x(uniform({5}, -1, 1, 1), true), y(uniform({5}, -1, 1, 1), true), w(uniform({5}, -1, 1, 2));
  block({x, w}).backward(uniform({5}, -1, 1, 3));
  checkpoint(block, {y, w}).backward(uniform({5}, -1, 1, 3));
  EXPECT_TRUE(bitwise_equal(x.grad(), y.grad()));
  EXPECT_FALSE(w.grad().defined());
}

TEST(Checkpoint, ParametersInsideGetTheirGradients) {
  const Variable x(uniform({5}, -1, 1, 1), true), weight(uniform({5}, -1, 1, 2), true);
  checkpoint([&](const Variables& in) { return in[0] * weight; }, {x})
      .backward(Tensor::full({5}, 1, DType::kF32));
  EXPECT_TRUE(bitwise_equal(weight.grad(), x.value()));
}

TEST(Checkpoint, RunsTwiceAndSaysWhichRunItIs) {
  std::vector<bool> runs;
  const auto fn = [&](const Variables& in) {
    runs.push_back(recomputing());
    return in[0] * in[0];
  };
  const Variable x(uniform({5}, -1, 1, 1), true);
  const Variable y = checkpoint(fn, {x});
  EXPECT_EQ(runs, (std::vector<bool>{false}));
  y.backward(Tensor::full({5}, 1, DType::kF32));
  EXPECT_EQ(runs, (std::vector<bool>{false, true}));
  EXPECT_FALSE(recomputing());
}

TEST(Checkpoint, SimplyRunsWhenNothingIsToBeDifferentiated) {
  int runs = 0;
  const Variable weight(uniform({5}, -1, 1, 2), true);
  const auto fn = [&](const Variables& in) {
    ++runs;
    return in[0] * weight;
  };
  // The input needs no gradient, the weight inside does: the function is recorded as it is.
  checkpoint(fn, {Variable(uniform({5}, -1, 1, 1))}).backward(Tensor::full({5}, 1, DType::kF32));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(weight.grad().defined());
}

TEST(Checkpoint, KeepsOnlyTheResult) {
  constexpr int64_t kElements = 1 << 16;
  const auto chain = [](const Variables& in) {
    Variable y = in[0];
    for (int i = 0; i < 20; ++i) y = sigmoid(y);
    return y;
  };
  const Variable x(uniform({kElements}, -1, 1, 1), true);
  const int64_t before = memory_stats(DeviceType::kCPU).live_bytes;
  const Variable y = checkpoint(chain, {x});
  EXPECT_EQ(memory_stats(DeviceType::kCPU).live_bytes - before, kElements * 4);
  const Variable recorded = chain({x});
  EXPECT_GE(memory_stats(DeviceType::kCPU).live_bytes - before, 20 * kElements * 4);
}

}  // namespace
}  // namespace osprey
