#include "core/autograd/gradcheck.h"

#include "core/ops/elementwise.h"
#include "tests/golden.h"

namespace osprey {
namespace {

Tensor input() { return testing::uniform({2, 3}, -1, 1, 1).to(DType::kF64); }

TEST(Gradcheck, AcceptsACorrectGradient) {
  EXPECT_GRADCHECK([](const Variables& in) { return in[0] * in[0]; }, {input()});
}

// The judge must be able to convict.
TEST(Gradcheck, NamesTheWorstElementOfAWrongOne) {
  const auto wrong = [](const Variables& in) {
    return record("wrong", in[0].value().clone(), {in[0]}, [](const Tensor& g) {
      Tensor grad = g.clone();
      grad.slice(1, 2).fill(0);
      return Gradients{grad};
    });
  };
  const std::string report = gradcheck(wrong, {input()});
  EXPECT_EQ(report.find("input 0 element "), 0u) << report;
  EXPECT_NE(report.find("tape 0"), std::string::npos) << report;
}

TEST(Gradcheck, SeesAGradientThatIsMissing) {
  EXPECT_NE(gradcheck([](const Variables& in) { return in[0].detach() * in[0]; }, {input()}), "");
}

TEST(Gradcheck, InsistsOnF64) {
  EXPECT_THROW(gradcheck([](const Variables& in) { return in[0]; }, {input().to(DType::kF32)}), Error);
}

}  // namespace
}  // namespace osprey
