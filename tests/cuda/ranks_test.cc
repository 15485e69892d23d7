#include <gtest/gtest.h>

#include "tests/run_tool.h"

// Several processes with a GPU each, over NCCL; the scenarios are those of tests/core/parallel.
namespace osprey::testing {
namespace {

Outcome run(int ranks, const std::string& scenario) {
  return run_ranks(ranks, in_runfiles("tests/core/parallel/ranks_main") + " " + scenario);
}

void expect_passes(const std::string& scenario) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun on this machine";
  const Outcome outcome = run(2, scenario);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find(scenario + ": as expected"), std::string::npos) << outcome.output;
}

TEST(RanksOnGpus, Sum) { expect_passes("sums"); }
TEST(RanksOnGpus, ExchangeMessages) { expect_passes("messages"); }
TEST(RanksOnGpus, FillBuckets) { expect_passes("buckets"); }
TEST(RanksOnGpus, NormaliseOverAllBatches) { expect_passes("sync_batch_norm"); }
TEST(RanksOnGpus, GoThroughTheHostWhenTheyShareOne) { expect_passes("share_a_device"); }

// What would hang a GPU or write past an end stops the emulated one.
TEST(RanksOnGpus, AreCaughtWhenTheirCountsDiffer) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun on this machine";
  const Outcome outcome = run(2, "unequal_counts");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("ncclAllReduce: count, type or root of rank"), std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace osprey::testing
