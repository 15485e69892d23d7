#include "tools/run_difference.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "tests/run_tool.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

class RunDifference : public ::testing::Test {
 protected:
  RunDifference() {
    write("a", "cpu", "lr: 0.02\n  momentum: 0.9", "1.25");
    write("b", "cuda:0", "lr: 0.01\n  nesterov: true", "1.26");
  }
  ~RunDifference() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& device, const std::string& optimizer,
             const std::string& second_loss) const {
    const fs::path folder = root_ / name;
    fs::create_directories(folder);
    std::ofstream(folder / "x.yaml") << "optimizer:\n  " << optimizer << "\nlist: [1, {a: 2}]\n";
    // An older run of the same folder does not count.
    std::ofstream(folder / "20260101_000000.log.json") << "{\"env_info\": \"system: old\"}\n";
    std::ofstream(folder / "20260201_000000.log.json")
        << R"({"env_info": "system: Linux\nOsprey: 1", "seed": 3, "exp_name": "x.yaml", "device": ")"
        << device << "\"}\n"
        << R"({"mode": "train", "epoch": 1, "iter": 10, "lr": 0.1, "loss": 2.5, "time": )" << name.size()
        << (name == "a" ? "1" : "2") << "}\n"
        << R"({"mode": "train", "epoch": 1, "iter": 20, "lr": 0.1, "loss": )" << second_loss << "}\n";
  }
  std::string at(const std::string& name) const { return root_ / name; }

  const fs::path root_ = fs::path(::testing::TempDir()) / "run_difference";
};

TEST_F(RunDifference, OfConfigMachineAndLog) {
  const RunFolder a = read_run(at("a")), b = read_run(at("b"));
  EXPECT_EQ(config_differences(a, b), "  optimizer.lr: 0.02 (" + at("a") + "/x.yaml:2) | 0.01 (" + at("b") +
                                          "/x.yaml:2)\n  optimizer.momentum: 0.9 (" + at("a") +
                                          "/x.yaml:3) | (none)\n  optimizer.nesterov: (none) | true (" +
                                          at("b") + "/x.yaml:3)\n");
  EXPECT_EQ(fact_differences(a, b), "  device: cpu | cuda:0\n");
  EXPECT_EQ(first_log_difference(a, b), "  train epoch 1 iter 20\n  loss: 1.25 | 1.26\n");
}

TEST_F(RunDifference, OfARunToItselfIsNone) {
  const testing::Outcome outcome = testing::run_tool("diff_runs", at("a") + " " + at("a"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(
      outcome.output,
      "config: no difference\nenvironment: no difference\nfirst difference in the log: no difference\n");
}

TEST_F(RunDifference, NeedsRuns) {
  fs::create_directories(root_ / "empty");
  const testing::Outcome outcome = testing::run_tool("diff_runs", at("a") + " " + at("empty"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, at("empty") + ": no run was logged here (*.log.json)\n");
}

}  // namespace
}  // namespace osprey
