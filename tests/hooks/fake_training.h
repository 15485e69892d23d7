#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/runner/runner.h"

// A detector of three layers on random pixels, and everything around it to train it in milliseconds.
namespace osprey::testing {

// backbone (linear 12 -> 8), bn (running mean, committed with the iteration), head (linear 8 -> 1);
// loss_cls = gain * mean(y^2), loss_bbox = mean(y^2), acc. `gain` sets how large gradients are.
class FakeDetector final : public Detector {
 public:
  explicit FakeDetector(double gain = 1, uint64_t seed = 1);
  LossDict forward_train(const Batch& batch) override;
  std::function<Variable(const Variable&)> tail;  // of the mean square, when given
  std::vector<DetectionResult> simple_test(const Batch&, bool) override { return {}; }
  std::vector<std::pair<std::string, int64_t>> num_classes_by_head() const override {
    return {{"head", 3}, {"roi_head.bbox_head.0", 80}};
  }

 private:
  class Linear;
  class Norm;
  double gain_;
  Linear* backbone_;
  Norm* bn_;
  Linear* head_;
};

// `length` batches per epoch of two images 2x2x3; the content depends on (epoch, batch) alone.
class FakeSource final : public BatchSource {
 public:
  explicit FakeSource(int64_t length = 4) : length_(length) {}
  int64_t batches_per_epoch() const override { return length_; }
  void begin_epoch(int64_t epoch, int64_t first_batch) override;
  bool next(Batch& batch) override;
  std::function<void(Batch&)> edit;  // spoils a batch

 private:
  int64_t length_;
  int64_t epoch_ = 0, next_ = 0;
};

// Calls a function at a stage.
class ProbeHook final : public Hook {
 public:
  using Action = std::function<void(Runner&)>;
  Action at_before_iter, at_after_train_iter, at_after_skipped_iter;
  Priority priority() const override { return Priority::kLowest; }
  void before_train_iter(Runner& r) override { call(at_before_iter, r); }
  void after_train_iter(Runner& r) override { call(at_after_train_iter, r); }
  void after_skipped_iter(Runner& r, const std::string&) override { call(at_after_skipped_iter, r); }

 private:
  static void call(const Action& action, Runner& runner) {
    if (action) action(runner);
  }
};

// A run from a YAML config (runner, optimizer, hooks) on a fresh detector, in a fresh work directory.
class FakeTraining {
 public:
  explicit FakeTraining(const std::string& yaml, double gain = 1, const std::string& work_dir = "");

  void run();
  void resume(const std::string& path);
  Runner& runner() { return *runner_; }
  FakeSource& source() { return source_; }
  FakeDetector& model() { return model_; }
  ProbeHook& probe() { return *probe_; }
  const std::string& work_dir() const { return work_dir_; }

 private:
  FakeDetector model_;
  FakeSource source_;
  std::string work_dir_;
  std::unique_ptr<Runner> runner_;
  ProbeHook* probe_;
};

// Everything a run leaves behind, as it would be saved: weights, buffers, optimizer, hooks.
StateDict everything(Runner& runner, const std::vector<std::string>& without_hooks = {});
// "" when equal, else the first name that differs.
std::string first_difference(const StateDict& a, const StateDict& b);

std::string fresh_dir();

}  // namespace osprey::testing
