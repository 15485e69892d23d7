#include <gtest/gtest.h>

#include <chrono>

#include "core/base/strings.h"
#include "tests/run_tool.h"

// Real processes: each test starts a scenario (*_scenarios.cc) in several of them.
namespace osprey::testing {
namespace {

class Ranks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "no mpirun on this machine";
  }
  static Outcome run(int ranks, const std::string& scenario) {
    return run_ranks(ranks, in_runfiles("tests/core/parallel/ranks_main") + " " + scenario);
  }
  static void expect_passes(int ranks, const std::string& scenario) {
    const Outcome outcome = run(ranks, scenario);
    EXPECT_EQ(outcome.exit_code, 0) << scenario << " on " << ranks << " ranks:\n" << outcome.output;
    EXPECT_NE(outcome.output.find(scenario + ": as expected"), std::string::npos) << outcome.output;
  }
  static size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_F(Ranks, Sum) {
  expect_passes(2, "sums");
  expect_passes(3, "sums");
}
TEST_F(Ranks, SumHalvesInF32) { expect_passes(3, "halves_are_summed_in_f32"); }
TEST_F(Ranks, ExchangeMessages) {
  expect_passes(2, "messages");
  expect_passes(3, "messages");
}
TEST_F(Ranks, FillBuckets) {
  expect_passes(2, "buckets");
  expect_passes(3, "buckets");
}

TEST_F(Ranks, NormaliseOverAllBatches) {
  expect_passes(2, "sync_batch_norm");
  expect_passes(3, "sync_batch_norm");  // the third has no rows
  expect_passes(2, "sync_batch_norm_without_rows");
}

TEST_F(Ranks, TrainAsOneProcessWithTheJoinedBatch) {
  expect_passes(2, "equals_one_process");
  expect_passes(3, "equals_one_process");
  expect_passes(2, "equals_one_process_in_half");
  expect_passes(2, "equals_one_process_accumulating");
}
TEST_F(Ranks, StartFromTheSameWeights) { expect_passes(2, "starts_from_rank_0"); }
TEST_F(Ranks, SkipTogether) {
  expect_passes(2, "skips_a_bad_loss_together");
  expect_passes(3, "skips_a_bad_loss_together");
  expect_passes(2, "skips_an_overflow_together");
  expect_passes(2, "skips_an_absorbed_overflow_together");
}
TEST_F(Ranks, StopTogether) { expect_passes(2, "stops_together"); }
TEST_F(Ranks, NeedNotUseTheSameParameters) { expect_passes(2, "unused_parameters"); }
TEST_F(Ranks, LogMeanLosses) { expect_passes(2, "losses_are_averaged"); }
TEST_F(Ranks, ResumeInsideAnAccumulationWindow) { expect_passes(2, "resumes_inside_a_window"); }
TEST_F(Ranks, AverageBuffers) { expect_passes(2, "buffers_are_averaged"); }

// mmdetection's assertion, on all ranks, told once.
TEST_F(Ranks, RefuseDifferentLosses) {
  const Outcome outcome = run(2, "different_losses");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_EQ(count(outcome.output,
                  "loss log variables are different across GPUs: rank 0 has loss_a; rank 1 has "
                  "loss_a, loss_of_the_others"),
            1u)
      << outcome.output;
}

TEST_F(Ranks, TellACommonErrorOnce) {
  const Outcome outcome = run(3, "all_fail_alike");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_EQ(count(outcome.output, "a: must be > 0, got 0"), 1u) << outcome.output;
}

TEST_F(Ranks, EndWhenOneFails) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run(3, "last_rank_fails");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_EQ(count(outcome.output, "rank 2: only here"), 1u) << outcome.output;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(Ranks, EndWhenOneDies) {
  const Outcome outcome = run(2, "last_rank_dies");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.exit_code, 124) << "the others hung";
}

}  // namespace
}  // namespace osprey::testing
