#include "core/runner/forensics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/amp/loss_scaler.h"
#include "core/runner/replay.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

constexpr double kLargestHalf = 65504;
constexpr double kLargestBFloat16 = 3.38953139e38;

std::string first_nonfinite_weight(Runner& runner) { return first_nonfinite(runner.weights().state_dict()); }

std::string place_of(const OpRecord& record) {
  const std::string module = record.module_path.empty() ? "the model" : record.module_path;
  return str_cat(module, " (op ", record.op, record.backward ? ", backward" : ", forward", ", first ",
                 record.has_nan ? "nan" : "inf", ")");
}

// The parameter that a bad backward op belongs to, as users know it; else the op's place.
std::string gradient_place(const Replay& seen, const NonFiniteEvent& event) {
  const std::vector<std::string>& bad = seen.bad_parameters.empty() ? event.names : seen.bad_parameters;
  if (seen.first_bad) {
    for (const std::string& name : bad) {
      if (starts_with(name, seen.first_bad->module_path + ".")) return name;
    }
    if (!seen.first_bad->module_path.empty()) return seen.first_bad->module_path;
  }
  return bad.empty() ? "the gradient norm" : bad.back();
}

// The largest power of two whose replay stays finite; 0 when even 1 does not. `unscaled` is a finite replay
// at scale 1: gradients grow in proportion to the scale, rounding may cost one more step.
double largest_safe_scale(Runner& runner, const Replay& unscaled, double used) {
  const double limit = runner.weights().precision() == DType::kBF16 ? kLargestBFloat16 : kLargestHalf;
  const double largest = std::max(unscaled.largest_half_gradient, std::numeric_limits<double>::min());
  double scale =
      std::min(std::exp2(std::floor(std::log2(limit / largest))), std::exp2(std::floor(std::log2(used))));
  while (scale > 1 && !replay(runner, scale).finite()) scale /= 2;
  return scale;
}

Diagnosis divergence(Runner& runner, const Replay& seen, const NonFiniteEvent& event) {
  std::string where = "at ";
  if (seen.first_bad) {
    where += place_of(*seen.first_bad);
  } else {
    where += join(event.names);
  }
  return {str_cat("divergence: non-finite in fp32 too, ", where,
                  event.where == NonFiniteEvent::Where::kLoss ? str_cat("; loss terms: ", join(event.names))
                                                              : ""),
          str_cat("lower optimizer.lr (now ", runner.current_lr(),
                  "), lengthen lr_config.warmup_iters, or set optimizer_config.grad_clip={max_norm: 35}")};
}

Diagnosis diagnose_forward(Runner& runner, const Replay& seen, const NonFiniteEvent& event) {
  if (runner.weights().precision() == DType::kF32) return divergence(runner, seen, event);
  const Replay in_fp32 = replay_in_fp32(runner);
  if (!in_fp32.bad_losses.empty()) return divergence(runner, in_fp32, event);
  const std::string module = seen.first_bad ? seen.first_bad->module_path : "";
  return {str_cat("activation overflow in half in ",
                  seen.first_bad ? place_of(*seen.first_bad) : join(event.names),
                  "; fp32 is finite there; loss terms: ", join(event.names)),
          module.empty() ? "train this part in fp32" : "fp16.keep_fp32=[" + module + "]"};
}

Diagnosis diagnose_backward(Runner& runner, const Replay& seen, const NonFiniteEvent& event) {
  const std::string place = gradient_place(seen, event);
  const std::string finding =
      str_cat("gradient overflow at loss_scale ", scale_text(event.loss_scale), " in ", place);
  const bool half = runner.weights().precision() != DType::kF32;
  if (!half) return divergence(runner, seen, event);
  const Replay unscaled = replay(runner, 1);
  if (unscaled.finite()) {
    const double safe = largest_safe_scale(runner, unscaled, event.loss_scale);
    return {str_cat(finding, "; largest safe power of two here: ", scale_text(safe)),
            str_cat("fp16.loss_scale=", scale_text(safe), " or fp16.loss_scale=dynamic")};
  }
  if (!replay_in_fp32(runner).finite()) return divergence(runner, unscaled, event);
  // An op outside every module: the layer of the parameter is the nearest thing to keep in f32.
  std::string module = seen.first_bad ? seen.first_bad->module_path : "";
  if (module.empty()) module = place.substr(0, place.rfind('.'));
  return {finding + "; it overflows in half at any loss scale, fp32 is finite",
          "fp16.keep_fp32=[" + module + "]"};
}

// Flat index -> "pixel (x 3, y 5), channel 0" of an (n, h, w, c) tensor; the image goes to *n.
std::string pixel_at(const Tensor& img, int64_t index, int64_t* n) {
  const int64_t h = img.dim(1), w = img.dim(2), c = img.dim(3);
  *n = index / (h * w * c);
  return str_cat("pixel (x ", index / c % w, ", y ", index / (c * w) % h, ") of channel ", index % c);
}

int64_t first_nonfinite_index(const Tensor& tensor) {
  const Tensor host = tensor.to(DType::kF32).to(kCPU);
  const float* x = host.data<float>();
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

std::string file_of(const Batch& batch, int64_t image) {
  const bool known = image < static_cast<int64_t>(batch.img_metas.size());
  return known ? "file " + batch.img_metas[image].filename : str_cat("image ", image, " of the batch");
}

}  // namespace

Diagnosis diagnose(Runner& runner, const NonFiniteEvent& event) {
  const std::string weight = first_nonfinite_weight(runner);
  if (!weight.empty())
    return {"weights already non-finite: " + weight, "resume from an earlier checkpoint (--resume-from)"};
  const std::string input = describe_bad_input(runner.batch());
  if (!input.empty()) return {"bad input: " + input, "mend or remove that file or annotation"};
  const Replay seen = replay(runner, event.loss_scale);
  const std::string drill = runner.fire_drill().fired();
  if (!drill.empty()) {
    const bool forward = !seen.bad_losses.empty();
    return {str_cat(forward ? "non-finite " + join(seen.bad_losses)
                            : str_cat("gradient overflow at loss_scale ", scale_text(event.loss_scale),
                                      " in ", gradient_place(seen, event)),
                    " (fire drill ", drill, ")"),
            "remove debug.inject"};
  }
  if (seen.finite())
    return {str_cat("non-finite ", join(event.names), ", but a replay of the iteration is finite"),
            "look for a hook or an op that changes state between runs"};
  return seen.bad_losses.empty() ? diagnose_backward(runner, seen, event)
                                 : diagnose_forward(runner, seen, event);
}

std::string describe_bad_input(const Batch& batch) {
  if (batch.img.defined() && batch.img.rank() == 4) {
    const int64_t bad = first_nonfinite_index(batch.img);
    if (bad >= 0) {
      int64_t image = 0;
      const std::string pixel = pixel_at(batch.img, bad, &image);
      return str_cat(file_of(batch, image), ": ", pixel, " is ", batch.img.item_at(bad));
    }
  }
  for (size_t i = 0; i < batch.gt_bboxes.size(); ++i) {
    const int64_t bad = first_nonfinite_index(batch.gt_bboxes[i]);
    if (bad >= 0) {
      return str_cat(file_of(batch, static_cast<int64_t>(i)), ": box ", bad / 4, " has the coordinate ",
                     batch.gt_bboxes[i].item_at(bad));
    }
  }
  return "";
}

}  // namespace osprey
