#include <algorithm>

#include "core/runner/runner.h"

namespace osprey {
namespace {

constexpr const char* kStages[] = {"before_run",       "before_train_epoch", "before_train_iter",
                                   "after_train_iter", "after_skipped_iter", "after_train_epoch",
                                   "before_val_epoch", "before_val_iter",    "after_val_iter",
                                   "after_val_epoch",  "after_run"};

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

bool takes_part(const Hook& hook, const std::string& stage) {
  return std::find(hook.stages().begin(), hook.stages().end(), stage) != hook.stages().end();
}

}  // namespace

// The lines are mmcv's, so that people and scripts find what they look for.
std::string Runner::hook_order() const {
  std::string table;
  for (const char* stage : kStages) {
    std::vector<std::string> lines;
    for (size_t i = 0; i < hooks_.size(); ++i) {
      if (!takes_part(*hooks_[i], stage)) continue;
      const std::string line =
          "(" + padded(name_of(priorities_[i]), 12) + ") " + padded(hooks_[i]->name(), 35);
      // The step decides whether the others of this stage run at all.
      const bool first = stage == std::string("after_train_iter") && hooks_[i].get() == step_hook_;
      lines.insert(first ? lines.begin() : lines.end(), line);
    }
    if (!lines.empty()) table += str_cat(stage, ":\n", join(lines, "\n"), "\n -------------------- \n");
  }
  return table;
}

}  // namespace osprey
