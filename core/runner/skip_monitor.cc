#include "core/runner/skip_monitor.h"

#include <algorithm>

#include "core/amp/loss_scaler.h"
#include "core/base/logging.h"
#include "core/parallel/communicator.h"
#include "core/runner/forensics.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

// A replay costs an iteration or two: after this many, only every hundredth unabsorbed skip gets one.
constexpr int64_t kDiagnosedSkips = 5;

std::string summary(const NonFiniteEvent& event) {
  if (event.where == NonFiniteEvent::Where::kLoss) return str_cat("non-finite ", join(event.names));
  // Backward runs from the end of the model: the last of the parameters was the first to be hit.
  const std::string others =
      event.names.size() > 1 ? str_cat(" (and ", event.names.size() - 1, " more parameters)") : "";
  return str_cat("gradient overflow at loss_scale ", scale_text(event.loss_scale), " in ",
                 event.names.empty() ? "the gradient norm" : event.names.back(), others);
}

}  // namespace

SkipMonitor::SkipMonitor(const ConfigNode& root)
    : stop_at_once_(root.choice("on_nonfinite", "skip", {"skip", "stop"}) == "stop"), keeper_(root) {}

void SkipMonitor::committed() { consecutive_ = consecutive_unabsorbed_ = 0; }

bool SkipMonitor::worth_a_diagnosis(const NonFiniteEvent& event, bool last) const {
  if (last) return true;
  return !event.absorbed && (unabsorbed_ <= kDiagnosedSkips || unabsorbed_ % 100 == 0);
}

// Of several ranks the first whose own losses or gradients are to blame looks into it, for all. Replays are
// its own affair: the others, whose iteration was finite, wait.
Diagnosis SkipMonitor::diagnose_and_keep(Runner& runner, const NonFiniteEvent& event, bool last) {
  Communicator& ranks = world();
  const int own = event.on_this_rank ? ranks.rank() : ranks.size();
  const int first = std::min(static_cast<int>(ranks.min(own)), ranks.size() - 1);
  Diagnosis diagnosis;
  if (ranks.rank() == first) {
    {
      const OnOwn on_own;
      try {
        diagnosis = diagnose(runner.scene(), event);
      } catch (const OutOfMemory&) {
        throw;
      } catch (const Error& error) {  // a replay may meet what training never does, e.g. other dtypes
        diagnosis = {str_cat(summary(event), " (a replay failed: ", error.what(), ")"), ""};
      }
    }
    keeper_.keep(runner, event, diagnosis, last);
    if (ranks.size() > 1) diagnosis.finding += str_cat(" (on rank ", first, ")");
  }
  ranks.broadcast(diagnosis.finding, first);
  ranks.broadcast(diagnosis.cure, first);
  return diagnosis;
}

std::string SkipMonitor::skipped(Runner& runner, const NonFiniteEvent& event) {
  ++total_;
  if (event.window_lost) return "an earlier iteration of the accumulation window was skipped";
  ++consecutive_;
  last_where_ = event.where;
  if (event.absorbed) {
    consecutive_unabsorbed_ = 0;
  } else {
    ++unabsorbed_;
    ++consecutive_unabsorbed_;
  }
  const StepHook& step = runner.step_hook();
  const bool last = (stop_at_once_ && !event.absorbed) || consecutive_ >= step.max_absorbed_skips() ||
                    consecutive_unabsorbed_ >= step.max_consecutive_skips();
  Diagnosis diagnosis{summary(event), ""};
  if (worth_a_diagnosis(event, last)) diagnosis = diagnose_and_keep(runner, event, last);
  const std::string cure = diagnosis.cure.empty() ? "" : ". Cure: " + diagnosis.cure;
  last_reason_ = diagnosis.finding;
  if (last) {
    throw Error(str_cat("training stops at iteration ", runner.iter() + 1, " after ", consecutive_,
                        consecutive_ == 1 ? " iteration" : " consecutive iterations",
                        " that could not commit: ", diagnosis.finding, cure));
  }
  // mmcv's words, where it would have said them.
  const std::string downscaled = event.absorbed ? str_cat("Check overflow, downscale loss scale to ",
                                                          scale_text(step.loss_scale()), ": ")
                                                : "";
  log_warning(str_cat(downscaled, diagnosis.finding, "; iteration skipped (", total_, " so far)", cure));
  return diagnosis.finding;
}

}  // namespace osprey
