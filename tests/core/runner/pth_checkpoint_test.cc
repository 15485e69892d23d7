#include "core/runner/pth_checkpoint.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/io/pth.h"
#include "core/runner/hook_state.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

std::string path_of(const std::string& name) { return ::testing::TempDir() + "/" + name; }

// A state of two parameters under AdamW, one of them frozen, with hooks.
Checkpoint example() {
  Checkpoint checkpoint;
  checkpoint.meta = {3, 120,   42,  "optimizer: {lr: 0.02}\n", "exp", {"cat", "d\xc3\xb6g"}, "0.1.0", "now",
                     2, "cpu", true};
  checkpoint.weights.put("conv1.weight", testing::uniform({2, 3, 1, 1}, -1, 1, 1));
  checkpoint.weights.put("bn1.running_mean", testing::uniform({2}, -1, 1, 2));
  checkpoint.weights.put("bn1.num_batches_tracked", Tensor::from<int64_t>({7}, {}));
  checkpoint.weights.put("fc.weight", testing::uniform({4, 2}, -1, 1, 3));
  checkpoint.optimizer.put("fc.weight.exp_avg", testing::uniform({4, 2}, -1, 1, 4));
  checkpoint.optimizer.put("fc.weight.exp_avg_sq", testing::uniform({4, 2}, 0, 1, 5));
  checkpoint.optimizer.put("fc.weight.step", Tensor::from<int64_t>({120}, {}));
  checkpoint.param_groups = {
      {{{"lr", {0.1}}, {"initial_lr", {0.2}}, {"betas", {0.9, 0.999}}, {"amsgrad", {0}, true}},
       {"conv1.weight", "fc.weight"}}};
  put_number(checkpoint.hooks["EvalHook"], "best_score", 0.25);
  put_text(checkpoint.hooks["EvalHook"], "best_ckpt", "best.pth");
  put_number(checkpoint.hooks["Fp16OptimizerHook"], "cur_scale", 512);
  checkpoint.hooks["EMAHook.1"].put("average.fc.weight", testing::uniform({4, 2}, 0, 1, 6));
  return checkpoint;
}

void expect_equal(const StateDict& a, const StateDict& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a.entries()[i].first, b.entries()[i].first);
    EXPECT_TRUE(bitwise_equal(a.entries()[i].second, b.entries()[i].second)) << a.entries()[i].first;
  }
}

TEST(PthCheckpoint, NothingIsLostOnTheWay) {
  const std::string path = path_of("state.pth");
  write_checkpoint(path, example());
  EXPECT_TRUE(is_pth(path));
  const Checkpoint back = read_checkpoint(path);
  expect_equal(back.weights, example().weights);
  expect_equal(back.optimizer, example().optimizer);
  ASSERT_EQ(back.hooks.size(), 3u);
  for (const auto& [hook, state] : back.hooks) expect_equal(state, example().hooks.at(hook));
  ASSERT_EQ(back.param_groups.size(), 1u);
  EXPECT_EQ(back.param_groups[0].params, example().param_groups[0].params);
  EXPECT_EQ(back.param_groups[0].options[2].values, (std::vector<double>{0.9, 0.999}));
  EXPECT_TRUE(back.param_groups[0].options[3].flag);
  for (const CheckpointMeta& meta : {back.meta, read_checkpoint_meta(path)}) {
    EXPECT_TRUE(meta.recorded);
    EXPECT_EQ(meta.epoch, 3);
    EXPECT_EQ(meta.iter, 120);
    EXPECT_EQ(meta.seed, 42u);
    EXPECT_EQ(meta.config, example().meta.config);
    EXPECT_EQ(meta.classes, example().meta.classes);
    EXPECT_EQ(meta.num_threads, 2);
  }
}

// What mmcv's runner looks for, where it looks for it.
TEST(PthCheckpoint, IsLaidOutAsMmcvWritesIt) {
  const std::string path = path_of("layout.pth");
  write_checkpoint(path, example());
  const PthFile file = read_pth(path);
  EXPECT_TRUE(file.root->find("state_dict")->ordered);
  const PickleObject& meta = *file.root->find("meta");
  EXPECT_TRUE(meta.find("CLASSES")->is(PickleKind::kTuple));
  EXPECT_EQ(meta.find("hook_msgs")->find("best_ckpt")->text, "best.pth");
  EXPECT_EQ(meta.find("fp16")->find("loss_scaler")->find("cur_scale")->number, 512);
  const PickleObject& optimizer = *file.root->find("optimizer");
  const PickleObject& state = *optimizer.find("state");
  ASSERT_EQ(state.items.size(), 2u);  // the frozen parameter has none, but has a number
  EXPECT_EQ(state.items[0]->integer, 1);
  EXPECT_EQ(state.items[1]->find("step")->integer, 120);
  const PickleObject& group = *optimizer.find("param_groups")->items.at(0);
  EXPECT_EQ(group.find("initial_lr")->number, 0.2);
  EXPECT_TRUE(group.find("amsgrad")->is(PickleKind::kBool));
  EXPECT_TRUE(group.find("betas")->is(PickleKind::kTuple));
  EXPECT_EQ(group.find("params")->items.size(), 2u);
}

TEST(PthCheckpoint, AnOptimizerThatCannotBePairedIsLeftOutAndSaidSo) {
  Checkpoint other = example();
  other.weights.put("gamma", Tensor::zeros({2}, DType::kF32));  // a buffer under an unknown name
  std::vector<std::string> notes;
  const std::string path = path_of("unpaired.pth");
  write_checkpoint(path, other);
  EXPECT_EQ(read_checkpoint(path, &notes).optimizer.size(), 0u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "the optimizer's state is left out: it numbers 2 parameters, the state_dict has 3");
  other = example();
  other.optimizer.put("fc.weight.exp_avg", Tensor::zeros({4, 3}, DType::kF32));
  write_checkpoint(path, other);
  notes.clear();
  EXPECT_EQ(read_checkpoint(path, &notes).optimizer.size(), 0u);
  EXPECT_NE(notes.at(0).find("parameter 1 (fc.weight (4, 2)) has a exp_avg of (4, 3)"), std::string::npos)
      << notes[0];
}

TEST(PthCheckpoint, ImpossibleCountersAreRefused) {
  Checkpoint damaged = example();
  damaged.meta.iter = -5;
  const std::string path = path_of("negative.pth");
  write_checkpoint(path, damaged);
  EXPECT_THROW(read_checkpoint(path), UserError);
  EXPECT_THROW(read_checkpoint_meta(path), UserError);
}

// The tiny HTC that mmcv saved, and its copy as we write it: every tensor, momentum and number is PyTorch's.
TEST(PthCheckpoint, MmcvsTrainingStateIsUnderstoodAndWrittenBack) {
  std::string path;
  try {
    path = Golden::find_file("checkpoint/htc_tiny_mmcv.pth");
  } catch (const Error&) {
    if (std::getenv("OSPREY_GOLDEN_DIR")) throw;  // a named folder must have it
    GTEST_SKIP() << "htc_tiny_mmcv.pth is not here";
  }
  const Golden golden = Golden::open("checkpoint/htc_tiny_expected");
  const auto& expected = golden.json();
  const std::string ours = path_of("htc.safetensors"), copy = path_of("htc.pth");
  write_checkpoint(ours, read_checkpoint(path));
  write_checkpoint(copy, read_checkpoint(ours));
  const Checkpoint first = read_checkpoint(path), second = read_checkpoint(copy);
  expect_equal(first.weights, second.weights);
  expect_equal(first.optimizer, second.optimizer);
  const auto names = expected["param_names"].get<std::vector<std::string>>();
  for (const Checkpoint* checkpoint : {&first, &second}) {
    EXPECT_EQ(checkpoint->meta.epoch, expected["meta"]["epoch"].get<int64_t>());
    EXPECT_EQ(checkpoint->meta.iter, expected["meta"]["iter"].get<int64_t>());
    EXPECT_EQ(checkpoint->meta.classes, expected["meta"]["CLASSES"].get<std::vector<std::string>>());
    const auto& groups = expected["param_groups"];
    ASSERT_EQ(checkpoint->param_groups.size(), groups.size());
    size_t number = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      for (const std::string& name : checkpoint->param_groups[g].params) EXPECT_EQ(name, names.at(number++));
      for (const GroupOption& option : checkpoint->param_groups[g].options)
        EXPECT_EQ(option.values.at(0),
                  option.flag ? groups[g][option.name].get<bool>() : groups[g][option.name].get<double>())
            << option.name;
    }
    EXPECT_EQ(number, names.size());
    for (const std::string& name : names) {
      const Tensor* momentum = checkpoint->optimizer.find(name + ".momentum_buffer");
      ASSERT_EQ(momentum != nullptr, golden.has("momentum/" + name)) << name;
      if (momentum == nullptr) continue;
      const Tensor& values = golden.tensor("momentum/" + name);
      EXPECT_TENSOR_EQ(momentum->reshape({-1}).slice(0, values.numel()), values) << name;
    }
  }
}

}  // namespace
}  // namespace osprey
