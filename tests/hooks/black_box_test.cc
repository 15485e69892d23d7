#include "core/runner/black_box.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/hooks/fake_training.h"

namespace osprey {
namespace {

using testing::FakeTraining;
using Outcome = BlackBoxEntry::Outcome;

std::string config(const std::string& more) {
  return "runner: {type: EpochBasedRunner, max_epochs: 2}\noptimizer: {type: SGD, lr: 0.00001}\n" + more;
}

std::string file_of(const FakeTraining& training) { return training.work_dir() + "/blackbox.bin"; }

TEST(BlackBox, HoldsEveryIterationOfARun) {
  FakeTraining training(
      config("fp16: {loss_scale: 64.}\noptimizer_config: {grad_clip: {max_norm: 35}}\n"
             "debug: {inject: [{at: head.weight, iter: 2}]}"));
  training.run();
  const auto entries = read_black_box(file_of(training));
  ASSERT_EQ(entries.size(), 8u);
  for (size_t i = 0; i < entries.size(); ++i) {
    const BlackBoxEntry& entry = entries[i];
    EXPECT_EQ(entry.iter, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(entry.epoch, static_cast<int64_t>(i) / 4 + 1);
    EXPECT_EQ(entry.outcome, i == 2 ? Outcome::kSkipped : Outcome::kCommitted);
    EXPECT_EQ(entry.loss_scale, 64);
    EXPECT_EQ(entry.lr, 1e-5);
    EXPECT_EQ(entry.images, "first.jpg, second.jpg");
    EXPECT_EQ(std::isfinite(entry.grad_norm), i != 2);
    ASSERT_EQ(entry.losses.size(), 4u);
    EXPECT_EQ(entry.losses[0].first, "loss_cls");
    EXPECT_EQ(entry.losses[3].first, "loss");
    EXPECT_FLOAT_EQ(entry.losses[3].second, entry.losses[0].second + entry.losses[2].second);
    EXPECT_GT(entry.seconds, 0);
  }
}

TEST(BlackBox, IsARing) {
  const std::string path = testing::fresh_dir() + "/blackbox.bin";
  {
    BlackBox box(path);
    BlackBoxEntry entry;
    for (entry.iter = 1; entry.iter <= 600; ++entry.iter) {
      box.begin(entry);
      box.finish(entry);
    }
  }
  EXPECT_EQ(read_black_box(path).size(), 512u);
  EXPECT_EQ(read_black_box(path).front().iter, 89);
  {
    BlackBox again(path);  // a resumed run
    BlackBoxEntry entry;
    entry.iter = 1000;
    entry.images = std::string(5000, 'x');
    entry.losses.assign(100, {std::string(200, 'y'), 1.0});
    entry.losses.back() = {"loss", 7};
    again.begin(entry);
  }
  const auto entries = read_black_box(path);
  EXPECT_EQ(entries.back().iter, 1000);
  EXPECT_EQ(entries.back().outcome, Outcome::kRunning);
  EXPECT_EQ(entries.back().images, std::string(511, 'x'));
  EXPECT_EQ(entries.back().losses.back(), (std::pair<std::string, double>{"loss", 7}));
  EXPECT_EQ(entries[entries.size() - 2].iter, 600);
}

constexpr char kWorkDir[] = "OSPREY_BLACK_BOX_TEST_DIR";

// The process that the next test kills: it does so itself, in the middle of its sixth iteration.
TEST(BlackBox, DISABLED_Victim) {
  FakeTraining training(config(""), 1, std::getenv(kWorkDir));
  training.source().edit = [](Batch& batch) { batch.img_metas[0].filename = "number.jpg"; };
  training.model().tail = [&](const Variable& x) {
    if (training.runner().iter() == 5) ::kill(::getpid(), SIGKILL);
    return x;
  };
  training.run();
}

// A process of its own: threads of this one would not be there after a mere fork.
TEST(BlackBox, SurvivesSigkill) {
  const std::string work_dir = testing::fresh_dir();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(kWorkDir, work_dir.c_str(), 1);
    ::execl("/proc/self/exe", "victim", "--gtest_also_run_disabled_tests",
            "--gtest_filter=BlackBox.DISABLED_Victim", nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const auto entries = read_black_box(work_dir + "/blackbox.bin");
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_EQ(entries[4].outcome, Outcome::kCommitted);
  EXPECT_EQ(entries[5].outcome, Outcome::kRunning);
  EXPECT_EQ(entries[5].images, "number.jpg, second.jpg");
}

TEST(BlackBox, CanBeSwitchedOffAndNeverEndsARun) {
  FakeTraining off(config("debug: {black_box: false}"));
  off.run();
  EXPECT_FALSE(std::filesystem::exists(file_of(off)));
  FakeTraining blocked(config(""));
  std::filesystem::create_directory(file_of(blocked));
  blocked.run();
  EXPECT_EQ(blocked.runner().iter(), 8);
}

TEST(BlackBox, OtherFilesAreRefused) {
  const std::string path = testing::fresh_dir() + "/blackbox.bin";
  std::ofstream(path) << "something else";
  EXPECT_THROW(read_black_box(path), UserError);
  EXPECT_THROW(read_black_box(path + "0"), UserError);
  { BlackBox box(path); }  // the file's place is taken over
  EXPECT_TRUE(read_black_box(path).empty());
}

}  // namespace
}  // namespace osprey
