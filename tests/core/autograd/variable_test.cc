#include "core/autograd/variable.h"

#include <limits>

#include "core/autograd/op_inputs.h"
#include "core/ops/elementwise.h"
#include "tests/golden.h"

namespace osprey {
namespace {

Variable leaf(double value, DType dtype = DType::kF32) {
  return Variable(Tensor::full({}, value, dtype), /*requires_grad=*/true);
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Tape, FollowsTheChainRule) {
  const Variable x = leaf(3);
  (2.0 * (x * x) + 1.0).backward();
  EXPECT_EQ(x.grad().item(), 12);
}

TEST(Tape, SeedScalesEveryGradient) {
  const Variable x = leaf(3);
  (x * x).backward(512);
  EXPECT_EQ(x.grad().item(), 512 * 6);
}

TEST(Tape, LeavesAccumulateUntilZeroed) {
  Variable x = leaf(3);
  (x * x).backward();
  (x * x).backward();
  EXPECT_EQ(x.grad().item(), 12);
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  (x * x).backward();
  EXPECT_EQ(x.grad().item(), 6);
}

// A node runs once, after everything that hangs on it: 2^30 paths lead through this ladder of diamonds.
TEST(Tape, DiamondsRunEachNodeOnce) {
  const Variable x = leaf(1, DType::kF64);
  Variable y = x;
  int gradients = 0;
  for (int i = 0; i < 30; ++i) y = y + y;
  set_op_observer([&](const OpEvent& event) { gradients += event.backward; });
  y.backward();
  set_op_observer({});
  EXPECT_EQ(x.grad().item(), 1 << 30);
  EXPECT_EQ(gradients, 60);  // two inputs each
}

TEST(Tape, UnequalPathsMeetInOrder) {
  const Variable x = leaf(2);
  const Variable a = x * x;          // 4
  const Variable b = relu(a + 0.0);  // a longer way
  const Variable c = a * b;          // 16 = x^4
  c.backward();
  EXPECT_EQ(x.grad().item(), 32);
}

TEST(Tape, DeepChainsNeitherRecurseNorOverflow) {
  const Variable x = leaf(0, DType::kF64);
  constexpr int kDepth = 100000;
  {
    Variable y = x;
    for (int i = 0; i < kDepth; ++i) y = y + 1.0;
    EXPECT_EQ(y.value().item(), kDepth);
    y.backward();
    EXPECT_EQ(x.grad().item(), 1);
  }
  Variable abandoned = x;  // dies without a backward
  for (int i = 0; i < kDepth; ++i) abandoned = abandoned + 1.0;
}

TEST(Tape, ASecondBackwardIsAnErrorThatNamesTheOp) {
  const Variable x = leaf(3);
  const Variable y = x * x;
  y.backward();
  EXPECT_EQ(message_of([&] { y.backward(); }),
            "multiply: backward runs through the graph a second time; its buffers are freed");
}

TEST(Tape, FreesWhatANodeHeldAsSoonAsItRan) {
  const Variable x = leaf(3);
  const auto token = std::make_shared<int>(1);
  const Variable y = record("held", x.value(), {x}, [token](const Tensor& g) { return Gradients{g}; });
  EXPECT_EQ(token.use_count(), 2);
  y.backward();
  EXPECT_EQ(token.use_count(), 1);  // though y is still there
}

TEST(Tape, NothingIsRecordedWithoutNeed) {
  const Variable constant(Tensor::full({}, 2, DType::kF32)), x = leaf(3);
  EXPECT_FALSE((constant * constant).requires_grad());
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE((x * x).requires_grad());
    {
      const EnableGradGuard again;
      EXPECT_TRUE((x * x).requires_grad());
    }
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_FALSE((x.detach() * constant).requires_grad());
  EXPECT_EQ(message_of([&] { constant.backward(); }), "backward: nothing on the tape requires a gradient");
}

TEST(Tape, GradientsArriveInTheInputsDType) {
  const Variable x(Tensor::full({3}, 2, DType::kF16), true);
  const Variable y = cast(cast(x, DType::kF32) * cast(x, DType::kF32), DType::kF64);
  y.backward(Tensor::full({3}, 1, DType::kF64));
  EXPECT_EQ(x.grad().dtype(), DType::kF16);
  EXPECT_TENSOR_EQ(x.grad(), Tensor::full({3}, 4, DType::kF16));
}

TEST(Tape, AHalfGradientOverflowsOnItsWay) {
  const Variable x(Tensor::full({}, 1, DType::kF16), true);
  (1.0 * cast(x, DType::kF32)).backward(1e6);
  EXPECT_EQ(x.grad().item(), std::numeric_limits<double>::infinity());
}

TEST(Tape, ShowsAnObserverWhatAnOpRead) {
  std::vector<std::string> seen;
  set_op_observer([&](const OpEvent& event) {
    std::string line = event.op;
    for (const Tensor& input : observed_inputs()) line += str_cat(" ", input.item());
    seen.push_back(line);
  });
  const Variable x(Tensor::full({}, 3, DType::kF32), true);
  const Variable y = x * x;
  (y + y).backward(2);
  set_op_observer({});
  EXPECT_EQ(seen, (std::vector<std::string>{"multiply 3 3", "add 9 9", "add 2", "add 2", "multiply 4",
                                            "multiply 4"}));
  EXPECT_TRUE(observed_inputs().empty());
}

TEST(Tape, NodesRememberTheirModule) {
  std::vector<std::string> seen;
  set_op_observer([&](const OpEvent& event) {
    seen.push_back(std::string(event.backward ? "-" : "+") + event.op + "@" + event.module_path);
  });
  const Variable x = leaf(2);
  Variable y;
  {
    const std::string outer = "neck", inner = "neck.conv";
    const ModuleScope neck(outer);
    {
      const ModuleScope conv(inner);
      y = x * x;
    }
    y = y + 1.0;
  }
  y = 3.0 * y;
  y.backward();
  set_op_observer({});
  EXPECT_EQ(seen, (std::vector<std::string>{"+multiply@neck.conv", "+offset@neck", "+scale@", "-scale@",
                                            "-offset@neck", "-multiply@neck.conv", "-multiply@neck.conv"}));
}

TEST(Tape, OnlyLeavesMayChange) {
  Variable x = leaf(2);
  x.mutable_value().fill(5);
  EXPECT_EQ(x.value().item(), 5);
  Variable y = x * x;
  EXPECT_EQ(message_of([&] { y.mutable_value(); }), "mutable_value: only leaves may change");
  EXPECT_EQ(message_of([&] { y.set_requires_grad(false); }),
            "set_requires_grad: only leaves have the switch");
  EXPECT_EQ(message_of([&] { Variable().value(); }), "the variable is undefined");
}

TEST(Tape, AScalarIsNeededUnlessAGradientIsGiven) {
  const Variable x(Tensor::full({2}, 1, DType::kF32), true);
  EXPECT_EQ(message_of([&] { (x + 1.0).backward(); }), "backward: needs a scalar, got f32 (2) cpu");
  EXPECT_EQ(message_of([&] { (x + 1.0).backward(Tensor({3}, DType::kF32)); }),
            "backward: gradient (3) for value (2)");
}

}  // namespace
}  // namespace osprey
