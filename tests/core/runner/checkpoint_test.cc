#include "core/runner/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "core/base/error.h"
#include "core/runner/hook_state.h"
#include "tests/golden.h"

namespace osprey {
namespace {

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/" + name; }

Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.meta = {3, 120,   42,  "optimizer:\n  lr: 0.02\n", "exp", {"cat", "dög"}, "0.1.0", "now",
                     2, "cpu", true};
  checkpoint.weights.put("backbone.conv1.weight", testing::uniform({2, 3, 1, 1}, -1, 1, 1));
  checkpoint.optimizer.put("backbone.conv1.weight.momentum_buffer", testing::uniform({2, 3, 1, 1}, -1, 1, 2));
  put_number(checkpoint.hooks["EvalHook"], "best_score", 0.1);
  put_text(checkpoint.hooks["EvalHook"], "best_ckpt", "best.safetensors");
  checkpoint.hooks["EMAHook.1"].put("average.a.b", testing::uniform({4}, 0, 1, 3));
  return checkpoint;
}

TEST(Checkpoint, SurvivesTheDisk) {
  const std::string path = path_of("c.safetensors");
  write_checkpoint(path, example());
  const Checkpoint back = read_checkpoint(path);
  EXPECT_EQ(back.meta.epoch, 3);
  EXPECT_EQ(back.meta.iter, 120);
  EXPECT_EQ(back.meta.seed, 42u);
  EXPECT_EQ(back.meta.classes, (std::vector<std::string>{"cat", "dög"}));
  EXPECT_EQ(back.meta.config, "optimizer:\n  lr: 0.02\n");
  EXPECT_EQ(back.meta.num_threads, 2);
  EXPECT_TRUE(bitwise_equal(*back.weights.find("backbone.conv1.weight"),
                            *example().weights.find("backbone.conv1.weight")));
  EXPECT_NE(back.optimizer.find("backbone.conv1.weight.momentum_buffer"), nullptr);
  EXPECT_EQ(find_number(back.hooks.at("EvalHook"), "best_score"), 0.1);
  EXPECT_EQ(find_text(back.hooks.at("EvalHook"), "best_ckpt"), "best.safetensors");
  EXPECT_NE(back.hooks.at("EMAHook.1").find("average.a.b"), nullptr);
  EXPECT_EQ(read_checkpoint_meta(path).iter, 120);
}

TEST(Checkpoint, ACutFileIsAUserError) {
  const std::string path = path_of("cut.safetensors");
  write_checkpoint(path, example());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3);
  EXPECT_THROW(read_checkpoint(path), UserError);
  EXPECT_THROW(read_checkpoint(path_of("missing.safetensors")), UserError);
}

TEST(Checkpoint, AFolderIsAUserErrorThatNamesAFile) {
  const std::string folder = ::testing::TempDir();
  const std::vector<std::function<void()>> readers = {
      [&] { read_checkpoint(folder); }, [&] { read_checkpoint_meta(folder); }, [&] { read_weights(folder); }};
  for (const auto& reader : readers) {
    try {
      reader();
      ADD_FAILURE() << "no error";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("is a folder"), std::string::npos) << error.what();
    }
  }
}

TEST(Checkpoint, FindsTheFirstNonFiniteTensor) {
  Checkpoint checkpoint = example();
  EXPECT_EQ(first_nonfinite(checkpoint), "");
  checkpoint.optimizer.put("x.exp_avg",
                           Tensor::full({2}, std::numeric_limits<double>::quiet_NaN(), DType::kF32));
  EXPECT_EQ(first_nonfinite(checkpoint), "x.exp_avg");
}

// STORIES: counters that no run can have had.
TEST(CheckpointMeta, RefusesImpossibleCounters) {
  for (const char* counters :
       {R"("epoch": 0, "iter": -5)", R"("epoch": -1, "iter": 5)", R"("epoch": 1, "iter": "10")",
        R"("epoch": 1.5, "iter": 10)", R"("epoch": true, "iter": 10)", R"("epoch": [1], "iter": 10)"}) {
    EXPECT_THROW(parse_meta("a.safetensors", str_cat("{", counters, "}")), UserError) << counters;
  }
  EXPECT_TRUE(parse_meta("a.safetensors", R"({"epoch": 1, "iter": 10})").recorded);
  EXPECT_FALSE(parse_meta("a.safetensors", "{}").recorded);
}

TEST(CheckpointMeta, KeepsParameterGroups) {
  const std::vector<ParamGroupRecord> groups = {
      {{{"lr", {0.1}}, {"betas", {0.9, 0.999}}, {"amsgrad", {1}, true}}, {"a.weight", "a.bias"}},
      {{}, {"b"}}};
  std::vector<ParamGroupRecord> back;
  parse_meta("a", meta_text({}, groups, "{}"), &back);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].params, groups[0].params);
  EXPECT_EQ(back[0].options[1].values, groups[0].options[1].values);
  EXPECT_TRUE(back[0].options[2].flag);
  EXPECT_EQ(back[1].params, groups[1].params);
}

}  // namespace
}  // namespace osprey
