#include "tools/replay_report.h"

#include <cmath>
#include <cstdio>
#include <ostream>

#include "core/amp/loss_scaler.h"
#include "core/runner/bad_input.h"
#include "core/runner/scale_advisor.h"

namespace osprey {
namespace {

using Losses = std::vector<std::pair<std::string, double>>;

void print_heading(const IterationRecord& record, const Scene& scene, double scale, std::ostream& out) {
  out << "iteration " << record.iter + 1 << ", " << scene.weights.precision() << ", loss scale "
      << scale_text(scale) << ", " << scene.model.device() << "; images: " << image_files(scene.batch)
      << "\nlogged: " << record.diagnosis.text() << "\n\n";
}

void print_columns(std::ostream& out) {
  char line[160];
  std::snprintf(line, sizeof line, "%-8s %-24s %-5s %10s %10s %9s %9s %9s  %s\n", "pass", "op", "dtype",
                "abs-max", "abs-min", "inf", "nan", "zero", "module");
  out << line;
}

void print_op(const OpRecord& op, std::ostream& out) {
  char line[160];
  std::snprintf(line, sizeof line, "%-8s %-24s %-5s %10.4g %10.4g %9lld %9lld %9lld  ",
                op.backward ? "backward" : "forward", op.op.c_str(), name_of(op.dtype), op.seen.largest,
                op.seen.smallest, static_cast<long long>(op.seen.infs), static_cast<long long>(op.seen.nans),
                static_cast<long long>(op.seen.zeros));
  out << line << (op.module_path.empty() ? "-" : op.module_path) << (op.finite() ? "" : "  <-- bad") << "\n";
}

// Prints ops up to the first bad one, or all.
class Table {
 public:
  Table(bool all, std::ostream& out) : all_(all), out_(out) { print_columns(out); }
  void add(const OpRecord& op) {
    ++ops_;
    if (!all_ && bad_) return;
    print_op(op, out_);
    bad_ = bad_ || !op.finite();
    ++printed_;
  }
  void end() const {
    if (printed_ < ops_) out_ << "... and " << ops_ - printed_ << " behind it (--all)\n";
  }

 private:
  bool all_, bad_ = false;
  int64_t ops_ = 0, printed_ = 0;
  std::ostream& out_;
};

void print_losses(const Losses& losses, std::ostream& out) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : losses) texts.push_back(str_cat(name, " ", value));
  out << "\nlosses: " << join(texts) << "\n";
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The first loss or parameter in which the replay is not what was logged, or "".
std::string first_disagreement(const IterationRecord& record, const Replay& seen) {
  for (size_t i = 0; i < record.losses.size(); ++i) {
    const auto& [name, logged] = record.losses[i];
    if (i >= seen.losses.size() || seen.losses[i].first != name) return "there is no " + name;
    char text[160];
    std::snprintf(text, sizeof text, "%s is %.17g, logged was %.17g", name.c_str(), seen.losses[i].second,
                  logged);
    if (!same(seen.losses[i].second, logged)) return text;
  }
  const bool loss = record.event.where == NonFiniteEvent::Where::kLoss;
  const std::vector<std::string>& bad = loss ? seen.bad_losses : seen.bad_parameters;
  if (bad == record.event.names) return "";
  return str_cat("not finite: ", join(bad), "; logged: ", join(record.event.names));
}

// The verdict at other settings than the logged ones: of what happened there.
NonFiniteEvent event_of(const Replay& seen, double scale) {
  NonFiniteEvent event;
  event.where = seen.bad_losses.empty() ? NonFiniteEvent::Where::kGradient : NonFiniteEvent::Where::kLoss;
  event.names = seen.bad_losses.empty() ? seen.bad_parameters : seen.bad_losses;
  event.loss_scale = scale;
  return event;
}

}  // namespace

void report_replay(KeptIteration& iteration, const ReportOptions& options, std::ostream& out) {
  const IterationRecord& record = iteration.record();
  const Scene scene = iteration.scene();
  const double scale =
      options.loss_scale.value_or(scene.weights.precision() == DType::kF16 ? record.event.loss_scale : 1);
  print_heading(record, scene, scale, out);
  Table table(options.all, out);
  const Replay seen =
      replay(scene, {scale, {}, /*backward=*/true, [&](const OpRecord& op) { table.add(op); }});
  table.end();
  print_losses(seen.losses, out);
  const bool as_logged = iteration.must_agree() && scale == record.event.loss_scale;
  const std::string other = first_disagreement(record, seen);
  if (as_logged && other.empty()) out << "reproduced: the losses and what overflowed are bitwise the log's\n";
  if (!as_logged && !iteration.why_not().empty())
    out << "need not agree with the log to the last bit: " << iteration.why_not() << "\n";
  if (seen.finite()) {
    out << "verdict: finite at loss scale " << scale_text(scale) << " in " << scene.weights.precision()
        << "\n";
  } else {
    const NonFiniteEvent event = as_logged ? record.event : event_of(seen, scale);
    out << "verdict: " << diagnose(scene, event).text() << "\n";
  }
  if (as_logged && !other.empty()) throw Error("not reproduced: " + other);
}

void report_advice(KeptIteration& iteration, std::ostream& out) {
  const Scene scene = iteration.scene();
  if (scene.weights.precision() != DType::kF16)
    throw UserError("--advise: only fp16 needs a loss scale; --precision fp16 asks what it would do");
  const ScaleAdvice advice = advise_scale(scene);
  if (advice.measured_at == 0)
    throw UserError("--advise: the iteration is not finite at loss scale 1, so no scale helps");
  char line[160];
  std::snprintf(line, sizeof line, "%12s %12s %12s  %s\n", "loss scale", "become inf", "become 0",
                "limiting layer");
  out << line;
  for (const ScaleForecast& forecast : advice.forecasts) {
    std::snprintf(line, sizeof line, "%12.0f %12lld %11.3f%%  ", forecast.scale,
                  static_cast<long long>(forecast.overflowed), 100 * forecast.flushed);
    out << line << forecast.limiting << (forecast.scale == advice.measured_at ? "  <-- largest safe" : "")
        << "\n";
  }
  out << "gradients measured at " << scale_text(advice.measured_at)
      << "; shares are of the elements that are not 0 there\nadvice: fp16.loss_scale="
      << scale_text(advice.advised) << " (room for gradients 4 times as large)\n";
}

}  // namespace osprey
