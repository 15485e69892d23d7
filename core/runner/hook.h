#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/nn/module.h"
#include "core/registry/registry.h"
#include "core/runner/priority.h"

namespace osprey {

class Runner;
class StepHook;

// Something that happens at stages of a training run. A hook uses the runner's public interface and saves
// what a resumed run needs.
//
// An iteration is a transaction, so its end has three faces: after_train_iter() follows committed iterations
// only; after_skipped_iter() one that was rolled back; after_accumulated_iter() one whose gradients wait for
// the end of their accumulation window. after_iter() stands for all three (and for validation iterations):
// what must happen at every iteration, such as a timer, overrides that one. mmcv's order of stages is:
// before_run, before_train_epoch, before_train_iter, after_train_iter, after_train_epoch, before_val_epoch,
// before_val_iter, after_val_iter, after_val_epoch, after_run.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual Priority priority() const { return Priority::kNormal; }

  // Throws UserError for a config that cannot work, before anything runs; tools/train --check gets as far.
  virtual void check(Runner&) {}
  virtual void before_run(Runner&) {}
  virtual void after_run(Runner&) {}

  virtual void before_train_epoch(Runner& runner) { before_epoch(runner); }
  virtual void before_train_iter(Runner& runner) { before_iter(runner); }
  virtual void after_train_iter(Runner& runner) { after_iter(runner); }
  virtual void after_skipped_iter(Runner& runner, const std::string& /*reason*/) { after_iter(runner); }
  virtual void after_accumulated_iter(Runner& runner) { after_iter(runner); }
  virtual void after_train_epoch(Runner& runner) { after_epoch(runner); }

  virtual void before_val_epoch(Runner& runner) { before_epoch(runner); }
  virtual void before_val_iter(Runner& runner) { before_iter(runner); }
  virtual void after_val_iter(Runner& runner) { after_iter(runner); }
  virtual void after_val_epoch(Runner& runner) { after_epoch(runner); }

  virtual void before_epoch(Runner&) {}
  virtual void after_epoch(Runner&) {}
  virtual void before_iter(Runner&) {}
  virtual void after_iter(Runner&) {}

  // State for checkpoints; helpers for numbers and texts are in core/runner/hook_state.h. load_state() runs
  // after before_run() of every hook.
  virtual void save_state(StateDict&) const {}
  virtual void load_state(const StateDict&) {}
  // A hook that changes its saved state before the verdict (in before_train_iter) says true: the runner then
  // restores that state when the iteration is rolled back.
  virtual bool restore_on_skip() const { return false; }

  // Logger hooks say true: an evaluation between two iterations lets them write the training line first.
  virtual bool logs() const { return false; }

  // Not null for the one hook that turns losses into a step.
  virtual StepHook* as_step_hook() { return nullptr; }

  // Class name and overridden stages, for the log; set by identify().
  const std::string& name() const { return name_; }
  const std::vector<std::string>& stages() const { return stages_; }
  template <typename H>
  static std::unique_ptr<H> identify(const char* name, std::unique_ptr<H> hook);

 private:
  template <typename H>
  static std::vector<std::string> stages_of();

  std::string name_ = "Hook";
  std::vector<std::string> stages_;
};

OSPREY_DECLARE_REGISTRY(Hook);

// A pointer to an overridden member function carries the type of the class that overrides it.
template <typename H>
std::vector<std::string> Hook::stages_of() {
  std::vector<std::string> stages;
  const auto add = [&](const char* stage, bool overridden) {
    if (overridden) stages.push_back(stage);
  };
#define OSPREY_OVERRIDES(member) (!std::is_same_v<decltype(&H::member), decltype(&Hook::member)>)
  add("before_run", OSPREY_OVERRIDES(before_run) || OSPREY_OVERRIDES(check));
  add("before_train_epoch", OSPREY_OVERRIDES(before_train_epoch) || OSPREY_OVERRIDES(before_epoch));
  add("before_train_iter", OSPREY_OVERRIDES(before_train_iter) || OSPREY_OVERRIDES(before_iter));
  add("after_train_iter",
      std::is_base_of_v<StepHook, H> || OSPREY_OVERRIDES(after_train_iter) || OSPREY_OVERRIDES(after_iter));
  add("after_skipped_iter", OSPREY_OVERRIDES(after_skipped_iter) || OSPREY_OVERRIDES(after_iter));
  add("after_train_epoch", OSPREY_OVERRIDES(after_train_epoch) || OSPREY_OVERRIDES(after_epoch));
  add("before_val_epoch", OSPREY_OVERRIDES(before_val_epoch) || OSPREY_OVERRIDES(before_epoch));
  add("before_val_iter", OSPREY_OVERRIDES(before_val_iter) || OSPREY_OVERRIDES(before_iter));
  add("after_val_iter", OSPREY_OVERRIDES(after_val_iter) || OSPREY_OVERRIDES(after_iter));
  add("after_val_epoch", OSPREY_OVERRIDES(after_val_epoch) || OSPREY_OVERRIDES(after_epoch));
  add("after_run", OSPREY_OVERRIDES(after_run));
#undef OSPREY_OVERRIDES
  return stages;
}

template <typename H>
std::unique_ptr<H> Hook::identify(const char* name, std::unique_ptr<H> hook) {
  hook->name_ = name;
  hook->stages_ = stages_of<H>();
  return hook;
}

}  // namespace osprey

#include "core/runner/step_hook.h"

// On the last line of a hook's file; the hook is constructed from its ConfigNode.
#define OSPREY_REGISTER_HOOK(Type)                                                        \
  [[maybe_unused]] static const bool osprey_registered_##Type =                           \
      ::osprey::Registry<::osprey::Hook>::instance().add(                                 \
          #Type, [](const ::osprey::ConfigNode& cfg) -> std::unique_ptr<::osprey::Hook> { \
            return ::osprey::Hook::identify(#Type, std::make_unique<Type>(cfg));          \
          })
