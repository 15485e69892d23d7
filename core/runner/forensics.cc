#include "core/runner/forensics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "core/amp/loss_scaler.h"
#include "core/runner/bad_input.h"
#include "core/runner/checkpoint.h"

namespace osprey {
namespace {

constexpr double kLargestHalf = 65504;
constexpr double kLargestBFloat16 = 3.38953139e38;
constexpr double kLargestF32 = 3.40282347e38;
// A cure may keep so many layers in f32; beyond, half is the wrong format for the model.
constexpr size_t kMostKept = 6;
// The next batches' gradients differ: a static scale that fits this one exactly fails again soon.
constexpr double kMargin = 4;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

// "|x| 0.2 .. 7e+04", with what else is in it.
std::string range(const Magnitudes& seen) {
  std::string text = seen.largest == 0 ? "no finite number but 0"
                                       : str_cat("|x| ", number(seen.smallest), " .. ", number(seen.largest));
  if (seen.zeros > 0) text += str_cat(" and ", seen.zeros, seen.zeros == 1 ? " zero" : " zeros");
  if (seen.nans + seen.infs > 0) text += str_cat(" and ", seen.nans + seen.infs, " not finite");
  return text;
}

std::string ranges(const BadOp& bad) {
  std::vector<std::string> texts;
  for (const Magnitudes& input : bad.inputs) texts.push_back(range(input));
  return join(texts, "; ");
}

// "neck.conv (op conv2d, forward, first inf; of |x| 0.2 .. 3e+04; |x| 1e-05 .. 0.3)".
std::string place_of(const BadOp& bad) {
  const OpRecord& record = bad.record;
  const std::string module = record.module_path.empty() ? "the model" : record.module_path;
  return str_cat(module, " (op ", record.op, record.backward ? ", backward" : ", forward", ", first ",
                 record.seen.nans > 0 ? "nan" : "inf", bad.inputs.empty() ? "" : "; of ", ranges(bad), ")");
}

// The parameter that a bad backward op belongs to, as users know it; else the op's place.
std::string gradient_place(const Replay& seen, const NonFiniteEvent& event) {
  const std::vector<std::string>& bad = seen.bad_parameters.empty() ? event.names : seen.bad_parameters;
  if (seen.first_bad) {
    const std::string& module = seen.first_bad->record.module_path;
    for (const std::string& name : bad) {
      if (starts_with(name, module + ".")) return name;
    }
    if (!module.empty()) return module;
  }
  return bad.empty() ? "the gradient norm" : bad.back();
}

bool inputs_finite(const BadOp& bad) {
  return std::all_of(bad.inputs.begin(), bad.inputs.end(),
                     [](const Magnitudes& input) { return input.finite(); });
}

// Whether the op made a bad number of good ones as log and division by zero do. Sums of products of numbers
// below 1e10 stay far inside f32, so that what overflows there is another kind of function, and of larger
// ones any op may overflow, whatever zeros are among them; exp, which overflows at 89, is told by the element
// that it was given.
bool singular(const BadOp& bad) {
  if (bad.record.backward || is_half(bad.record.dtype) || !inputs_finite(bad) || bad.inputs.empty())
    return false;
  if (!std::all_of(bad.inputs.begin(), bad.inputs.end(),
                   [](const Magnitudes& input) { return input.largest < 1e10; }))
    return false;
  return !bad.blamed_input || *bad.blamed_input <= 0;
}

double base_lr(const Scene& scene) {
  const ConfigNode optimizer = scene.config.find("optimizer");
  return optimizer.is_map() ? optimizer.get("lr", scene.lr) : scene.lr;
}

bool clips(const Scene& scene) {
  const ConfigNode cfg = scene.config.find("optimizer_config");
  return cfg.is_map() && !cfg.find("grad_clip").is_null();
}

// A replay inside an iteration drops what that has staged; this puts it back.
class KeepStaged {
 public:
  explicit KeepStaged(Detector& model) : model_(model) {
    for (const auto& [name, buffer] : model.named_buffers()) staged_.push_back(buffer->staged);
  }
  ~KeepStaged() {
    size_t i = 0;
    for (const auto& [name, buffer] : model_.named_buffers()) buffer->staged = staged_[i++];
  }
  KeepStaged(const KeepStaged&) = delete;
  KeepStaged& operator=(const KeepStaged&) = delete;

 private:
  Detector& model_;
  Tensors staged_;
};

// One diagnosis; the functions below it are its verdicts.
class Case {
 public:
  Case(const Scene& scene, const NonFiniteEvent& event) : scene_(scene), event_(event) {}

  Diagnosis solve() const {
    const std::string weight = first_nonfinite(scene_.weights.state_dict());
    if (!weight.empty()) return lost_weights(weight);
    const std::string input = describe_bad_input(scene_.batch);
    if (!input.empty()) return bad_input(input);
    const Replay seen = at_scale(event_.loss_scale);
    const std::string drill = scene_.fire_drill.fired();
    if (!drill.empty()) return fire_drill(seen, drill);
    if (seen.finite()) {
      return {str_cat("non-finite ", join(event_.names), ", but a replay of the iteration is finite"),
              "look for a hook or an op that changes state between runs"};
    }
    return seen.bad_losses.empty() ? solve_backward(seen) : solve_forward(seen);
  }

 private:
  bool half() const { return scene_.weights.precision() != DType::kF32; }
  const char* block() const { return scene_.weights.precision() == DType::kBF16 ? "bf16" : "fp16"; }
  std::string images() const { return "; images: " + image_files(scene_.batch); }

  Replay at_scale(double scale) const {
    ReplayOptions options;
    options.loss_scale = scale;
    return replay(scene_, options);
  }
  Replay in_fp32(const std::vector<std::string>& modules, double scale = 1) const {
    ReplayOptions options;
    options.loss_scale = scale;
    options.in_fp32 = modules;
    return replay(scene_, options);
  }

  // --- Causes outside the iteration.

  // Adam divides by sqrt(v) + eps, in f32: an eps that rounds to 0 there divides 0 by 0.
  bool epsilon_lost() const {
    const ConfigNode optimizer = scene_.config.find("optimizer");
    const bool adam = optimizer.is_map() && starts_with(optimizer.get("type", ""), "Adam");
    return adam && static_cast<float>(optimizer.get("eps", 1e-8)) == 0;
  }

  Diagnosis lost_weights(const std::string& name) const {
    const std::string since = scene_.last_committed == 0
                                  ? " since before the first iteration of this run"
                                  : str_cat(" since the step of iteration ", scene_.last_committed);
    const std::string finding = "weights already non-finite: " + name + since;
    if (epsilon_lost()) {
      return {finding + "; optimizer epsilon lost: eps is 0 in fp32, a gradient of 0 divides 0 by 0",
              "optimizer.eps=1e-8"};
    }
    return {finding, str_cat("go back to a checkpoint before it (--resume-from) with optimizer.lr=",
                             number(base_lr(scene_) / 10))};
  }

  static Diagnosis bad_input(const std::string& what) {
    return {"bad input: " + what, "mend or remove that file or annotation"};
  }

  Diagnosis fire_drill(const Replay& seen, const std::string& drill) const {
    const std::string what = !seen.bad_losses.empty()
                                 ? "non-finite " + join(seen.bad_losses)
                                 : str_cat("gradient overflow at loss_scale ", scale_text(event_.loss_scale),
                                           " in ", gradient_place(seen, event_));
    return {str_cat(what, " (fire drill ", drill, ")"), "debug.inject=[]"};
  }

  // --- Causes that are the same in f32.

  std::string bad_terms() const {
    return event_.where == NonFiniteEvent::Where::kLoss ? "; loss terms: " + join(event_.names) : "";
  }

  Diagnosis same_in_fp32(const Replay& seen) const {
    const std::string odd = describe_odd_input(scene_.batch, scene_.model);
    if (!odd.empty()) return bad_input(odd);
    if (seen.first_bad && singular(*seen.first_bad)) {
      return {str_cat("log or division by zero at ", place_of(*seen.first_bad), ", in fp32 too", bad_terms(),
                      images()),
              "keep the op's input away from 0 (clamp it, or add an epsilon)"};
    }
    const std::string where = seen.first_bad ? place_of(*seen.first_bad) : join(event_.names);
    return {str_cat("divergence: non-finite in fp32 too, at ", where, bad_terms(), "; lr was ", scene_.lr,
                    images()),
            str_cat("optimizer.lr=", number(base_lr(scene_) / 10),
                    clips(scene_) ? "" : " or optimizer_config.grad_clip.max_norm=35",
                    ", from a checkpoint before it or from the start; a longer lr_config.warmup_iters")};
  }

  // --- Causes that are half's.

  // Layers that must leave half so that `good` holds, found by trying at loss scale 1; empty when those would
  // be too many.
  template <typename Good>
  std::vector<std::string> layers_to_keep(const Replay& seen, const Good& good) const {
    std::vector<std::string> kept;
    Replay last = seen;
    while (kept.size() < kMostKept) {
      const std::string module = next_to_keep(last, kept);
      if (module.empty()) return {};
      kept.push_back(module);
      last = in_fp32(kept);
      if (good(last)) return kept;
    }
    return {};
  }

  // The bad op's layer. A layer that is kept already hands its f32 gradient, too large for half, to the one
  // before it, whose ops run next; and for an op outside every module the parameter's is the nearest thing.
  std::string next_to_keep(const Replay& last, const std::vector<std::string>& kept) const {
    std::vector<std::string> candidates;
    if (last.first_bad) {
      candidates = last.first_bad->later_modules;
      candidates.insert(candidates.begin(), last.first_bad->record.module_path);
    }
    if (candidates.empty() || candidates[0].empty()) {
      const std::string place = gradient_place(last, event_);
      if (last.bad_losses.empty()) candidates.insert(candidates.begin(), place.substr(0, place.rfind('.')));
    }
    for (const std::string& module : candidates) {
      if (computes_in_half(module) && !std::count(kept.begin(), kept.end(), module)) return module;
    }
    return "";
  }

  bool computes_in_half(const std::string& module) const {
    for (const auto& [name, parameter] : scene_.model.named_parameters()) {
      if (!module.empty() && starts_with(name, module + ".") && is_half(parameter->variable.dtype()))
        return true;
    }
    return false;
  }

  std::string keep_cure(const std::vector<std::string>& layers) const {
    if (layers.empty()) return half_is_wrong();
    std::vector<std::string> all = scene_.weights.keep_fp32();
    all.insert(all.end(), layers.begin(), layers.end());
    return str_cat(block(), ".keep_fp32=[", join(all, ","), "]");
  }

  std::string half_is_wrong() const {
    return scene_.weights.precision() == DType::kBF16 ? "bf16=null" : "fp16=null bf16={}";
  }

  // The largest power of two whose replay stays finite. `unscaled` is a finite replay at scale 1: gradients
  // grow in proportion to the scale, rounding may cost one more step.
  double largest_safe_scale(const Replay& unscaled) const {
    const double limit = scene_.weights.precision() == DType::kBF16 ? kLargestBFloat16 : kLargestHalf;
    const double largest = std::max(unscaled.largest_half_gradient, limit / kLargestF32);
    double scale = std::min(std::exp2(std::floor(std::log2(limit / largest))),
                            std::exp2(std::floor(std::log2(event_.loss_scale))));
    while (scale > 1 && !at_scale(scale).finite()) scale /= 2;
    return scale;
  }

  Diagnosis solve_forward(const Replay& seen) const {
    if (!half()) return same_in_fp32(seen);
    const Replay exact = in_fp32({""});
    if (!exact.bad_losses.empty()) return same_in_fp32(exact);
    const std::string where = seen.first_bad ? place_of(*seen.first_bad) : join(event_.names);
    const auto loss_is_finite = [](const Replay& tried) { return tried.bad_losses.empty(); };
    // Half rounds what is below 6e-8 to 0.
    const bool flushed = seen.first_bad && singular(*seen.first_bad);
    return {str_cat(flushed ? "activation underflow in half: log or division by zero at "
                            : "activation overflow in half in ",
                    where, "; fp32 is finite there", bad_terms(), images()),
            flushed ? half_is_wrong() : keep_cure(layers_to_keep(seen, loss_is_finite))};
  }

  Diagnosis solve_backward(const Replay& seen) const {
    if (!half()) return same_in_fp32(seen);
    const std::string finding = str_cat("gradient overflow at loss_scale ", scale_text(event_.loss_scale),
                                        " in ", gradient_place(seen, event_));
    const Replay unscaled = at_scale(1);
    if (unscaled.finite()) {
      const double safe = largest_safe_scale(unscaled);
      return {str_cat(finding, "; largest safe power of two here: ", scale_text(safe)),
              str_cat("fp16.loss_scale=", scale_text(std::max(1.0, safe / kMargin)),
                      " or fp16.loss_scale=dynamic")};
    }
    if (const Replay exact = in_fp32({""}); !exact.finite()) return same_in_fp32(exact);
    const std::vector<std::string> layers =
        layers_to_keep(unscaled, [](const Replay& tried) { return tried.finite(); });
    return {finding + "; it overflows in half at any loss scale, fp32 is finite",
            keep_cure(layers) + scale_beside(layers)};
  }

  // Layers that stay in half may still need a lower scale: " fp16.loss_scale=64", or "".
  std::string scale_beside(const std::vector<std::string>& layers) const {
    if (layers.empty()) return "";
    double scale = event_.loss_scale;
    while (scale > 1 && !in_fp32(layers, scale).finite()) scale = std::max(1.0, scale / 2);
    return scale == event_.loss_scale ? "" : " fp16.loss_scale=" + scale_text(scale);
  }

  const Scene& scene_;
  const NonFiniteEvent& event_;
};

}  // namespace

Diagnosis diagnose(const Scene& scene, const NonFiniteEvent& event) { return Case(scene, event).solve(); }

Diagnosis diagnose_explosion(const Scene& scene, double loss, double median) {
  OpRecord largest;
  {
    const KeepStaged guard(scene.model);
    replay(scene, {1, {}, /*backward=*/false, [&](const OpRecord& op) {
                     if (op.seen.largest > largest.seen.largest) largest = op;
                   }});
  }
  return {
      str_cat("loss exploded to ", number(loss), ", ", number(loss / median), " times its running median ",
              number(median), "; largest activation: ", number(largest.seen.largest), " in ",
              largest.module_path.empty() ? "the model" : largest.module_path, " (op ", largest.op,
              "); images: ", image_files(scene.batch)),
      clips(scene) ? "optimizer.lr=" + number(base_lr(scene) / 10)
                   : "optimizer_config.grad_clip.max_norm=35"};
}

}  // namespace osprey
