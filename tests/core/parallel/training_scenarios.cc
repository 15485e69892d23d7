#include <cmath>
#include <filesystem>

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/parallel/communicator.h"
#include "hooks/default_hooks.h"
#include "tests/core/parallel/scenario.h"
#include "tests/hooks/fake_training.h"

namespace osprey::testing {
namespace {

constexpr char kConfig[] = R"(
runner: {type: EpochBasedRunner, max_epochs: 2}
optimizer: {type: SGD, lr: 0.1, momentum: 0.9, weight_decay: 0.01}
optimizer_config: {grad_clip: {max_norm: 1}}
log_config: {interval: 1, hooks: [{type: TextLoggerHook}]}
)";

// Rank 0's folder for all.
std::string shared_dir() {
  std::string dir = world().is_main() ? fresh_dir() : "";
  world().broadcast(dir);
  return dir;
}

void remove_dir(const std::string& dir) {
  world().barrier();
  if (world().is_main()) std::filesystem::remove_all(dir);
}

// Image `index` of an epoch's iteration, wherever it is trained on.
Tensor image(int64_t epoch, int64_t batch, int64_t index) {
  return random_values({1, 2, 2, 3}, static_cast<uint64_t>(1000 * epoch + 100 * batch + index));
}

// Puts `count` images from `first` on in the place of the source's.
void show(FakeTraining& training, int64_t first, int64_t count) {
  training.source().edit = [=, &training](Batch& batch) {
    const int64_t number = training.runner().inner_iter();
    Tensors images;
    for (int64_t i = 0; i < count; ++i) images.push_back(image(training.runner().epoch(), number, first + i));
    batch.img = concat(images);
    batch.img_metas.resize(static_cast<size_t>(count));
  };
}

void expect_same_training(FakeTraining& training) {
  const StateDict state = everything(training.runner());
  for (const auto& [name, tensor] : state.entries()) {
    if (name.find("running_mean") == std::string::npos) expect_same_everywhere(tensor, name);
  }
}

// Ranks of two images each take the steps that one process takes with all of them.
void equals_joined_batch(const std::string& yaml, double tolerance) {
  const std::string dir = shared_dir();
  const int64_t own = 2, all = own * world().size();
  FakeTraining together(yaml, 1, dir);
  show(together, own * world().rank(), own);
  together.run();
  expect_same_training(together);
  const StateDict weights = together.runner().weights().state_dict();
  {
    const OnOwn on_own;
    const std::string alone_dir = fresh_dir();
    FakeTraining alone(yaml, 1, alone_dir);
    show(alone, 0, all);
    alone.run();
    const StateDict expected = alone.runner().weights().state_dict();
    for (const auto& [name, tensor] : expected.entries()) {
      if (name != "bn.running_mean") expect_near(*weights.find(name), tensor, tolerance, name);
    }
    std::filesystem::remove_all(alone_dir);
  }
  remove_dir(dir);
}

OSPREY_SCENARIO(equals_one_process) { equals_joined_batch(kConfig, 1e-6); }

OSPREY_SCENARIO(equals_one_process_in_half) {
  equals_joined_batch(std::string(kConfig) + "fp16: {loss_scale: 512., coalesce: false}\n", 2e-3);
}

OSPREY_SCENARIO(equals_one_process_accumulating) {
  std::string yaml = kConfig;
  const std::string clip = "{grad_clip: {max_norm: 1}}";
  yaml.replace(yaml.find(clip), clip.size(), "{cumulative_iters: 3, bucket_size_mb: 1}");
  equals_joined_batch(yaml, 1e-6);
}

// The weights that count are rank 0's.
OSPREY_SCENARIO(starts_from_rank_0) {
  const std::string dir = shared_dir();
  FakeTraining training(kConfig, 1, dir);
  if (!world().is_main()) {
    for (const auto& [name, parameter] : training.model().named_parameters())
      parameter->variable.mutable_value().fill(3);
  }
  training.run();
  expect_same_training(training);
  remove_dir(dir);
}

// Rank 1 alone cannot commit iteration 2: nobody does, and all scales give way.
void skips_together(const std::string& yaml, const std::function<void(Batch&)>& spoil,
                    const std::string& where) {
  const std::string dir = shared_dir();
  FakeTraining training(yaml, 1, dir);
  training.source().edit = [&](Batch& batch) {
    if (world().rank() == 1 && training.runner().iter() == 2) spoil(batch);
  };
  training.run();
  expect(training.runner().skips().total() == 1, "one skip");
  const std::string reason = training.runner().skips().last_reason();
  expect(reason.find(where) != std::string::npos, "reason: " + reason);
  expect_same_training(training);
  const Tensor scale = Tensor::full({}, training.runner().step_hook().loss_scale(), DType::kF64);
  expect_same_everywhere(scale, "loss scale");
  remove_dir(dir);
}

OSPREY_SCENARIO(skips_a_bad_loss_together) {
  skips_together(
      kConfig, [](Batch& batch) { batch.img.fill(std::nan("")); },
      "bad input: file first.jpg: pixel (x 0, y 0) of channel 0 is nan (on rank 1)");
}

OSPREY_SCENARIO(skips_an_overflow_together) {
  skips_together(
      std::string(kConfig) + "fp16: {loss_scale: 4096.}\n", [](Batch& batch) { batch.img.fill(60); },
      "(on rank 1)");
}

OSPREY_SCENARIO(skips_an_absorbed_overflow_together) {
  skips_together(
      std::string(kConfig) + "fp16: {loss_scale: {init_scale: 4096., mode: dynamic}}\n",
      [](Batch& batch) { batch.img.fill(60); }, "gradient overflow");
}

// One rank gives up what the others wait for.
OSPREY_SCENARIO(stops_together) {
  const std::string dir = shared_dir();
  FakeTraining training(kConfig, 1, dir);
  training.probe().at_after_train_iter = [](Runner& runner) {
    if (world().rank() == 1 && runner.iter() == 2) runner.request_stop();
  };
  try {
    training.run();
  } catch (const Interrupted& interrupted) {
    expect(starts_with(interrupted.what(), "interrupted after iteration 3"), interrupted.what());
    return remove_dir(dir);
  }
  throw Error("nobody stopped");
}

// Losses in the log are means over the ranks.
class OwnLosses final : public Detector {
 public:
  OwnLosses() { weight_ = add_parameter("weight", Tensor::zeros({2}, DType::kF32)); }
  LossDict forward_train(const Batch&) override {
    LossDict losses;
    losses.add("loss_a",
               sum(weight_->variable) + Variable(Tensor::full({}, world().rank() + 1, DType::kF32)));
    if (extra_) losses.add("loss_of_the_others", sum(weight_->variable));
    return losses;
  }
  std::vector<DetectionResult> simple_test(const Batch&, bool) override { return {}; }
  bool extra_ = false;

 private:
  Parameter* weight_;
};

// Two branches; rank 1 uses the first alone, and nobody the third.
class Branches final : public Detector {
 public:
  Branches() {
    for (const char* name : {"both", "some", "none"})
      branches_.push_back(add_parameter(name, Tensor::full({2}, 1, DType::kF32)));
  }
  LossDict forward_train(const Batch&) override {
    LossDict losses;
    Variable loss = sum(branches_[0]->variable);
    if (world().rank() != 1) loss = loss + sum(branches_[1]->variable);
    losses.add("loss", loss);
    return losses;
  }
  std::vector<DetectionResult> simple_test(const Batch&, bool) override { return {}; }

 private:
  std::vector<Parameter*> branches_;
};

void train(Detector& model, const std::string& work_dir, const std::string& yaml, int64_t iterations,
           const std::function<void(Runner&)>& then = {}) {
  const ConfigNode config = parse_config(yaml);
  const std::unique_ptr<Runner> runner = build<Runner>(config["runner"]);
  RunnerContext context;
  context.model = &model;
  context.config = config;
  context.work_dir = work_dir;
  runner->set_up(context);
  register_training_hooks(*runner, config);
  FakeSource source(iterations);
  runner->run({{true, 1, &source}});
  if (then) then(*runner);
}

constexpr char kPlain[] = R"(
runner: {type: EpochBasedRunner, max_epochs: 1}
optimizer: {type: SGD, lr: 0.5, weight_decay: 0.5}
)";

OSPREY_SCENARIO(unused_parameters) {
  Branches model;
  train(model, "", kPlain, 1);
  const StateDict weights = model.state_dict();
  const double shares = (world().size() - 1.0) / world().size();
  const auto stepped = [](double gradient) {
    return Tensor::full({2}, 1 - 0.5 * (gradient + 0.5), DType::kF32);
  };
  expect_near(*weights.find("both"), stepped(1), 1e-6, "used by all");
  expect_near(*weights.find("some"), stepped(shares), 1e-6, "used by some");
  expect_near(*weights.find("none"), Tensor::full({2}, 1, DType::kF32), 0, "used by nobody: no weight decay");
}

OSPREY_SCENARIO(losses_are_averaged) {
  OwnLosses model;
  train(model, "", kPlain, 1, [](Runner& runner) {
    runner.log_buffer().average();
    const double* loss = runner.log_buffer().find_output("loss_a");
    expect(loss && *loss == (world().size() + 1) / 2.0, "mean of the ranks' losses");
  });
}

OSPREY_SCENARIO(different_losses) {
  OwnLosses model;
  model.extra_ = !world().is_main();
  train(model, "", kPlain, 1);
}

// Saved inside an accumulation window, where gradients are still each rank's own.
OSPREY_SCENARIO(resumes_inside_a_window) {
  const std::string yaml = R"(
runner: {type: IterBasedRunner, max_iters: 8}
optimizer: {type: SGD, lr: 0.1, momentum: 0.9}
optimizer_config: {cumulative_iters: 4}
checkpoint_config: {interval: 2, by_epoch: false}
)";
  const std::string dir = shared_dir();
  const auto images = [](FakeTraining& training) {
    training.source().edit = [&training](Batch& batch) {
      batch.img = concat({image(0, training.runner().iter(), 2 * world().rank()),
                          image(0, training.runner().iter(), 2 * world().rank() + 1)});
    };
  };
  FakeTraining whole(yaml, 1, dir);
  images(whole);
  whole.run();
  world().barrier();
  expect(read_checkpoint_meta(dir + "/iter_6.safetensors").world_size == world().size(),
         "ranks in the meta data");
  FakeTraining resumed(yaml, 1, dir);
  images(resumed);
  resumed.resume(dir + "/iter_6.safetensors");
  resumed.run();
  // Statistics of plain BatchNorm are each rank's own; the file has rank 0's.
  const StateDict expected = everything(whole.runner(), {"CheckpointHook"});
  const StateDict got = everything(resumed.runner(), {"CheckpointHook"});
  for (const auto& [name, tensor] : expected.entries()) {
    const bool statistics = name.find("running_mean") != std::string::npos;
    const bool equal = got.find(name) && bitwise_equal(*got.find(name), tensor);
    expect(equal || (statistics && !world().is_main()), "the resumed run differs in " + name);
  }
  remove_dir(dir);
}

// SyncBuffersHook and sync_buffer: means of the statistics.
OSPREY_SCENARIO(buffers_are_averaged) {
  const std::string dir = shared_dir();
  FakeTraining training(std::string(kConfig) + "custom_hooks: [{type: SyncBuffersHook}]\n", 1, dir);
  show(training, 2 * world().rank(), 2);
  training.run();
  expect_same_everywhere(training.model().named_buffers().at(0).second->value, "running mean");
  remove_dir(dir);
}

}  // namespace
}  // namespace osprey::testing
