#include <gtest/gtest.h>

#include <limits>

#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using testing::everything;
using testing::FakeTraining;
using testing::first_difference;

constexpr char kBase[] = R"(
runner: {type: EpochBasedRunner, max_epochs: 2}
optimizer: {type: SGD, lr: 0.05, momentum: 0.9, weight_decay: 0.01}
custom_hooks: [{type: EMAHook, warm_up: 1, momentum: 0.5}]
)";

std::string with(const std::string& more) { return kBase + more; }

std::string inject(const std::string& at, const std::string& phase, int iter, const std::string& value) {
  return "debug: {inject: [{at: " + at + ", phase: " + phase + ", iter: " + std::to_string(iter) +
         ", value: " + value + "}]}\n";
}

struct Precision {
  const char* name;
  const char* yaml;
};

class TransactionTest : public ::testing::TestWithParam<Precision> {};

// The heart of the matter, STORY 2: an iteration that overflows leaves weights, masters, optimizer state,
// BatchNorm statistics and EMA bitwise as they were; in every precision, with a static scale too.
TEST_P(TransactionTest, ASkippedIterationLeavesNothingBehind) {
  for (const std::string& fault :
       {inject("head.weight", "backward", 3, ".inf"), inject("backbone", "backward", 3, ".nan"),
        inject("backbone", "forward", 3, ".nan")}) {
    FakeTraining training(with(GetParam().yaml + std::string("\n") + fault));
    StateDict before;
    int skipped = 0;
    // The scaler's own state may move.
    const std::vector<std::string> scaler = {"Fp16OptimizerHook"};
    training.probe().at_before_iter = [&](Runner& r) { before = everything(r, scaler); };
    training.probe().at_after_skipped_iter = [&](Runner& r) {
      ++skipped;
      EXPECT_EQ(r.iter(), 3);
      EXPECT_EQ(first_difference(before, everything(r, scaler)), "") << fault;
    };
    training.run();
    EXPECT_EQ(skipped, 1) << fault;
    EXPECT_EQ(training.runner().skips().total(), 1);
    EXPECT_EQ(training.runner().iter(), 8);
    EXPECT_EQ(first_nonfinite(everything(training.runner())), "");
  }
}

// The same, seen from the end: a run whose faulty iteration is skipped differs from one without the fault,
// but only from that iteration on; and a committed iteration does change everything.
TEST_P(TransactionTest, ACommittedIterationChangesWeightsStateBuffersAndAverage) {
  FakeTraining training(with(GetParam().yaml));
  StateDict before;
  int committed = 0;
  training.probe().at_before_iter = [&](Runner& r) { before = everything(r); };
  training.probe().at_after_train_iter = [&](Runner& r) {
    ++committed;
    const StateDict after = everything(r);
    for (const char* name : {"head.weight", "bn.running_mean", "EMAHook/average.head.weight"})
      EXPECT_FALSE(bitwise_equal(*before.find(name), *after.find(name))) << name;
    EXPECT_NE(after.find("optimizer.head.weight.momentum_buffer"), nullptr);
  };
  training.run();
  EXPECT_EQ(committed, 8);
}

INSTANTIATE_TEST_SUITE_P(Precisions, TransactionTest,
                         ::testing::Values(Precision{"fp32", ""},
                                           Precision{"fp16_static", "fp16: {loss_scale: 512.}"},
                                           Precision{"fp16_dynamic", "fp16: {loss_scale: {init_scale: 512}}"},
                                           Precision{"bf16", "bf16: {}"}),
                         [](const auto& info) { return info.param.name; });

// With accumulation the unit is the window: the good iterations before and after the bad one go too.
TEST(AccumulationTransaction, AWindowIsTheUnit) {
  FakeTraining training(
      with("optimizer_config: {cumulative_iters: 4}\n" + inject("head.weight", "backward", 5, ".inf")));
  std::vector<int64_t> committed, skipped;
  StateDict at_window_start;
  training.probe().at_before_iter = [&](Runner& r) {
    if (r.iter() == 4) at_window_start = everything(r);
  };
  training.probe().at_after_train_iter = [&](Runner& r) { committed.push_back(r.iter()); };
  training.probe().at_after_skipped_iter = [&](Runner& r) {
    skipped.push_back(r.iter());
    EXPECT_EQ(first_difference(at_window_start, everything(r)), "") << r.iter();
  };
  training.run();
  EXPECT_EQ(committed, std::vector<int64_t>{3});
  EXPECT_EQ(skipped, (std::vector<int64_t>{5, 6, 7}));
}

// A hook that changes its state before the verdict gets it back.
class CountingHook final : public Hook {
 public:
  explicit CountingHook(const ConfigNode&) {}
  void before_train_iter(Runner&) override { ++count; }
  bool restore_on_skip() const override { return true; }
  void save_state(StateDict& state) const override {
    state.put("count", Tensor::full({}, count, DType::kF64));
  }
  void load_state(const StateDict& state) override { count = static_cast<int>(state.find("count")->item()); }
  int count = 0;
};

TEST(HookTransaction, StateFromBeforeTheVerdictIsRestored) {
  FakeTraining training(with(inject("head.weight", "backward", 3, ".inf")));
  auto owned = Hook::identify("CountingHook", std::make_unique<CountingHook>(ConfigNode()));
  CountingHook* hook = owned.get();
  training.runner().register_hook(std::move(owned));
  training.run();
  EXPECT_EQ(hook->count, 7);
}

// Counters, learning rate and data move on over a skip.
TEST(SkippedIteration, AdvancesScheduleAndData) {
  const std::string lr = "lr_config: {policy: step, step: [1], warmup: linear, warmup_iters: 6}\n";
  std::vector<double> with_fault, without;
  for (auto* rates : {&with_fault, &without}) {
    FakeTraining training(
        with(lr + (rates == &with_fault ? inject("head.weight", "backward", 2, ".inf") : "")));
    training.probe().at_before_iter = [&](Runner& r) {
      rates->push_back(r.current_lr());
      rates->push_back(r.batch().img.to_doubles()[0]);
    };
    training.run();
  }
  EXPECT_EQ(with_fault, without);
}

}  // namespace
}  // namespace osprey
