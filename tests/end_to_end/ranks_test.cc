#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/strings.h"
#include "core/runner/checkpoint.h"
#include "tests/run_tool.h"

// tools/train and tools/test in several processes.
namespace osprey::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kConfig[] = "tests/end_to_end/tiny_ranks.yaml";

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Files whose name ends so.
size_t files(const std::string& dir, const std::string& ending) {
  size_t found = 0;
  for (const auto& entry : fs::directory_iterator(dir)) found += ends_with(entry.path().string(), ending);
  return found;
}

class RanksOfTools : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "no mpirun on this machine";
    std::string pattern = ::testing::TempDir() + "/ranks_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    if (!dir_.empty()) fs::remove_all(dir_);
  }
  // The arguments of every training here, into `name` below the test's folder.
  std::string arguments(const std::string& name, const std::string& more = "") const {
    return str_cat(" --config ", kConfig, " --device cpu --launcher mpi --work-dir ", dir_, "/", name, " ",
                   more);
  }
  static Outcome train(int ranks, const std::string& arguments) {
    return run_ranks(ranks, in_runfiles("tools/train_main") + arguments);
  }

  std::string dir_;
};

// Six images and three ranks, or four of two images on two: every rank has as many batches. One writes; a run
// that was broken off goes on to the same weights; its evaluation and tools/test find what one process finds.
TEST_F(RanksOfTools, TrainResumeAndTest) {
  const Outcome whole = train(2, arguments("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_EQ(count(whole.output, "Start running"), 1u) << whole.output;
  EXPECT_EQ(count(whole.output, "Distributed training: True"), 1u);
  EXPECT_NE(whole.output.find("DistSamplerSeedHook"), std::string::npos);
  EXPECT_EQ(files(dir_ + "/whole", ".log"), 1u);
  EXPECT_EQ(files(dir_ + "/whole", ".log.json"), 1u);
  EXPECT_EQ(read_checkpoint_meta(dir_ + "/whole/epoch_2.safetensors").world_size, 2);

  const Outcome half = train(2, arguments("half", "--cfg-options runner.max_epochs=1"));
  ASSERT_EQ(half.exit_code, 0) << half.output;
  const Outcome rest = train(2, arguments("half", "--auto-resume"));
  ASSERT_EQ(rest.exit_code, 0) << rest.output;
  const StateDict expected = read_weights(dir_ + "/whole/epoch_2.safetensors");
  const StateDict got = read_weights(dir_ + "/half/epoch_2.safetensors");
  for (const auto& [name, tensor] : expected.entries()) {
    ASSERT_NE(got.find(name), nullptr) << name;
    EXPECT_TRUE(bitwise_equal(*got.find(name), tensor)) << name;
  }

  const Outcome other =
      train(3, arguments("half", "--resume-from " + dir_ +
                                     "/half/epoch_1.safetensors --cfg-options runner.max_epochs=1"));
  EXPECT_NE(other.output.find("trained in 2 processes, this run has 3"), std::string::npos) << other.output;

  std::string alone;
  for (const int ranks : {1, 2, 3}) {
    const std::string out = str_cat(dir_, "/results_", ranks, ".json");
    const Outcome tested =
        run_ranks(ranks, in_runfiles("tools/test_main") + " --config " + kConfig + " --checkpoint " + dir_ +
                             "/whole/epoch_2.safetensors --device cpu --launcher mpi --gpu-collect --out " +
                             out + " --eval bbox");
    ASSERT_EQ(tested.exit_code, 0) << tested.output;
    EXPECT_EQ(count(tested.output, "\"bbox_mAP\""), 1u) << tested.output;
    if (ranks == 1) alone = text_of(out);
    EXPECT_GT(alone.size(), 100u);
    EXPECT_EQ(text_of(out), alone) << ranks << " ranks find something else than one";
  }
}

TEST_F(RanksOfTools, TellUserErrorsOnce) {
  const Outcome wrong = train(2, arguments("wrong", "--cfg-options optimizer.lr_=1"));
  EXPECT_EQ(wrong.exit_code, 2) << wrong.output;
  EXPECT_EQ(count(wrong.output, "unknown key 'lr_'") + count(wrong.output, "optimizer.lr_: "), 1u)
      << wrong.output;
  EXPECT_FALSE(fs::exists(dir_ + "/wrong"));
}

// All ranks skip together; one of them keeps its share of the iteration, which tools/replay can repeat but
// for what the others added.
TEST_F(RanksOfTools, KeepOneShareOfAnIterationThatFailed) {
  const Outcome overflow =
      train(2, arguments("overflow",
                         "--no-validate --cfg-options fp16.loss_scale=16777216. runner.max_epochs=1"
                         " debug.max_dumps=1"));
  EXPECT_EQ(count(overflow.output, " is kept in "), 1u) << overflow.output;
  const Outcome repeated = run_tool("replay", dir_ + "/overflow/numerics/iter_1 --device cpu");
  EXPECT_EQ(repeated.exit_code, 0) << repeated.output;
  EXPECT_NE(repeated.output.find("logged over 2 processes"), std::string::npos) << repeated.output;
}

TEST_F(RanksOfTools, SayHowTheyAreStarted) {
  for (const std::string launcher : {"mpi", "slurm"}) {
    const Outcome alone = run_tool("train", str_cat("--config ", kConfig, " --launcher ", launcher));
    EXPECT_EQ(alone.exit_code, 2) << alone.output;
    const std::string how = launcher == "mpi" ? "mpirun -np 2" : "srun --mpi=pmix";
    EXPECT_NE(alone.output.find(how), std::string::npos) << alone.output;
  }
}

}  // namespace
}  // namespace osprey::testing
