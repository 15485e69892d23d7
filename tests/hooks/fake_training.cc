#include "tests/hooks/fake_training.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/rng.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/reduce.h"
#include "core/ops/shape_ops.h"
#include "hooks/default_hooks.h"

namespace osprey::testing {
namespace {

Tensor random_tensor(Shape shape, uint64_t seed, uint64_t a = 0, uint64_t b = 0) {
  CounterRng rng(seed, a, b);
  Tensor tensor(std::move(shape), DType::kF32);
  float* values = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(rng.uniform(-0.5, 0.5));
  return tensor;
}

}  // namespace

class FakeDetector::Linear final : public Module {
 public:
  Linear(int64_t in, int64_t out, uint64_t seed)
      : weight_(add_parameter("weight", random_tensor({out, in}, seed))),
        bias_(add_parameter("bias", Tensor::zeros({out}, DType::kF32))) {}
  Variable forward(const Variable& x) const {
    const ModuleScope scope(path());
    return linear(x, *weight_, *bias_);
  }

 private:
  Parameter* weight_;
  Parameter* bias_;
};

class FakeDetector::Norm final : public Module {
 public:
  Norm()
      : weight_(add_parameter("weight", Tensor::full({1}, 1, DType::kF32))),
        running_mean_(add_buffer("running_mean", Tensor::zeros({1}, DType::kF32))) {}
  bool keeps_fp32() const override { return true; }
  Variable forward(const Variable& x) const {
    const ModuleScope scope(path());
    if (training()) {
      const double batch_mean = mean(x).value().item();
      running_mean_->staged =
          Tensor::full({1}, 0.9 * running_mean_->current().item() + 0.1 * batch_mean, DType::kF32);
    }
    return x;
  }
  Variable scale(const Variable& y) const { return y * reshape(*weight_, {}); }

 private:
  Parameter* weight_;
  Buffer* running_mean_;
};

FakeDetector::FakeDetector(double gain, uint64_t seed) : gain_(gain) {
  backbone_ = add_child("backbone", std::make_unique<Linear>(12, 8, seed));
  bn_ = add_child("bn", std::make_unique<Norm>());
  head_ = add_child("head", std::make_unique<Linear>(8, 1, seed + 1));
}

LossDict FakeDetector::forward_train(const Batch& batch) {
  const Variable x = batch.img.reshape({batch.img.dim(0), 12});
  const Variable y = head_->forward(bn_->forward(relu(backbone_->forward(x))));
  Variable square = bn_->scale(mean(cast(y, DType::kF32) * cast(y, DType::kF32)));
  if (tail) square = tail(square);
  LossDict losses;
  losses.add("loss_cls", gain_ * square);
  losses.add("acc", Variable(Tensor::full({}, 50, DType::kF32)));
  losses.add("loss_bbox", square);
  return losses;
}

void FakeSource::begin_epoch(int64_t epoch, int64_t first_batch) {
  epoch_ = epoch;
  next_ = first_batch;
}

bool FakeSource::next(Batch& batch) {
  if (next_ >= length_) return false;
  batch = Batch();
  batch.img = random_tensor({2, 2, 2, 3}, 99, epoch_, next_);
  batch.img_metas.resize(2);
  batch.img_metas[0].filename = "first.jpg";
  batch.img_metas[1].filename = "second.jpg";
  ++next_;
  if (edit) edit(batch);
  return true;
}

std::string fresh_dir() {
  std::string pattern = ::testing::TempDir() + "/fake_XXXXXX";
  return ::mkdtemp(pattern.data());
}

FakeTraining::FakeTraining(const std::string& yaml, double gain, const std::string& work_dir)
    : model_(gain), work_dir_(work_dir.empty() ? fresh_dir() : work_dir) {
  const ConfigNode config = parse_config(yaml);
  runner_ = build<Runner>(config["runner"]);
  RunnerContext context;
  context.model = &model_;
  context.config = config;
  context.work_dir = work_dir_;
  context.exp_name = "fake";
  context.timestamp = "20260131_224050";
  context.classes = {"a", "b", "c"};
  runner_->set_up(context);
  register_training_hooks(*runner_, config);
  register_custom_hooks(*runner_, config);
  auto probe = Hook::identify("ProbeHook", std::make_unique<ProbeHook>());
  probe_ = probe.get();
  runner_->register_hook(std::move(probe));
}

void FakeTraining::run() { runner_->run({{true, 1, &source_}}); }

void FakeTraining::resume(const std::string& path) { runner_->resume(read_checkpoint(path), path); }

StateDict everything(Runner& runner, const std::vector<std::string>& without_hooks) {
  const Checkpoint checkpoint = runner.checkpoint();
  StateDict all;
  const auto add = [&](const std::string& prefix, const StateDict& part) {
    for (const auto& [name, tensor] : part.entries()) all.put(prefix + name, tensor.clone());
  };
  add("", checkpoint.weights);
  add("optimizer.", checkpoint.optimizer);
  for (const auto& [hook, state] : checkpoint.hooks) {
    bool skip = false;
    for (const std::string& name : without_hooks) skip = skip || name == hook;
    if (!skip) add(hook + "/", state);
  }
  add("model.", runner.model().state_dict());  // the halves, too
  return all;
}

std::string first_difference(const StateDict& a, const StateDict& b) {
  for (const auto& [name, tensor] : a.entries()) {
    const Tensor* other = b.find(name);
    if (other == nullptr || !bitwise_equal(tensor, *other)) return name;
  }
  return a.size() == b.size() ? "" : "different entries";
}

}  // namespace osprey::testing
