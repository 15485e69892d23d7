#include "hooks/eval_hook.h"

#include <cmath>
#include <filesystem>

#include "core/base/logging.h"
#include "core/parallel/communicator.h"
#include "core/runner/hook_state.h"
#include "core/runner/inference.h"
#include "core/runner/over_ranks.h"
#include "core/runner/result_bytes.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

bool contains_any(const std::string& key, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (key.find(part) != std::string::npos) return true;
  }
  return false;
}

// A single name or a list of names.
std::vector<std::string> names(const ConfigNode& cfg, const std::string& key,
                               std::vector<std::string> fallback) {
  const ConfigNode node = cfg.find(key);
  if (node.is_null()) return fallback;
  return node.is_list() ? node.as<std::vector<std::string>>() : std::vector{node.as<std::string>()};
}

}  // namespace

EvalOptions read_eval_options(const ConfigNode& cfg) {
  EvalOptions options;
  options.metrics = names(cfg, "metric", options.metrics);
  options.classwise = cfg.get("classwise", options.classwise);
  options.proposal_nums = cfg.get("proposal_nums", options.proposal_nums, positive());
  options.iou_thrs = cfg.get("iou_thrs", options.iou_thrs, between(0, 1));
  const ConfigNode iou_thr = cfg.find("iou_thr");
  if (!iou_thr.is_null())
    options.iou_thr = iou_thr.is_list() ? iou_thr.as<std::vector<double>>(between(0, 1))
                                        : std::vector{iou_thr.as<double>(between(0, 1))};
  options.metric_items = names(cfg, "metric_items", options.metric_items);
  options.jsonfile_prefix = cfg.get("jsonfile_prefix", "");
  return options;
}

EvalHook::EvalHook(const ConfigNode& cfg, std::shared_ptr<const Dataset> dataset, int workers)
    : dataset_(std::move(dataset)),
      workers_(workers),
      interval_(cfg.get("interval", int64_t{1}, positive())),
      by_epoch_(cfg.get("by_epoch", true)),
      options_(read_eval_options(cfg)),
      save_best_(cfg.get("save_best", "")),
      greater_keys_(
          names(cfg, "greater_keys", {"mAP", "AR", "acc", "top", "AUC", "auc", "precision", "mIoU"})),
      less_keys_(names(cfg, "less_keys", {"loss"})),
      out_dir_(cfg.get("out_dir", "")),
      broadcast_bn_buffer_(cfg.get("broadcast_bn_buffer", true)) {
  cfg.get("gpu_collect", false);
  cfg.get("tmpdir", "");
  if (!cfg.find("start").is_null()) start_ = cfg.get("start", int64_t{0}, non_negative());
  if (!cfg.find("rule").is_null()) rule_ = cfg.choice("rule", "greater", {"greater", "less"});
  dataset_->check_options(options_);  // now, not after the first epoch
  if (!save_best_.empty() && save_best_ != "auto") greater_is_better(save_best_);
}

void EvalHook::before_run(Runner& runner) {
  if (out_dir_.empty()) {
    out_dir_ = runner.work_dir();
  } else {
    out_dir_ = fs::path(out_dir_) / fs::path(runner.work_dir()).lexically_normal().filename();
  }
}

// As mmcv: a run that resumes at or behind `start` is evaluated before it goes on.
void EvalHook::before_train_epoch(Runner& runner) {
  if (by_epoch_ && first_epoch_ && start_ && *start_ > 0 && runner.epoch() >= *start_)
    evaluate(runner, str_cat("epoch_", runner.epoch()));
  first_epoch_ = false;
}

void EvalHook::after_train_epoch(Runner& runner) {
  if (by_epoch_ && due(runner.epoch() + 1)) evaluate(runner, str_cat("epoch_", runner.epoch() + 1));
}

void EvalHook::after_iter(Runner& runner) {
  if (by_epoch_ || !runner.training() || !due(runner.iter() + 1)) return;
  for (const auto& hook : runner.hooks()) {
    if (hook->logs()) hook->after_iter(runner);
  }
  runner.log_buffer().clear();
  evaluate(runner, str_cat("iter_", runner.iter() + 1));
}

// `finished` epochs or iterations.
bool EvalHook::due(int64_t finished) const {
  if (!start_) return finished % interval_ == 0;
  return finished >= *start_ && (finished - *start_) % interval_ == 0;
}

void EvalHook::evaluate(Runner& runner, const std::string& when) {
  InferenceOptions inference;
  inference.workers = workers_;
  inference.on_progress = [&](int64_t, int64_t) { runner.throw_if_stopped_here(); };
  if (broadcast_bn_buffer_) broadcast_buffers(runner.model());
  const std::vector<DetectionResult> results = run_inference(runner.model(), dataset_, inference);
  const EvalReport report = report_of_main(results);
  if (!report.table.empty()) log_info("\n" + report.table);
  LogBuffer& buffer = runner.log_buffer();
  buffer.clear_output();
  for (const auto& [name, value] : report.metrics) buffer.set_output(name, value);
  for (const auto& [name, text] : report.texts) buffer.set_text(name, text);
  buffer.set_output("eval_iter_num", static_cast<double>(dataset_->size()));
  buffer.set_ready();
  if (!save_best_.empty()) keep_if_best(runner, report, when);
}

// Rank 0 evaluates; all ranks know the report, so that they agree on what is best.
EvalReport EvalHook::report_of_main(const std::vector<DetectionResult>& results) const {
  if (world().size() == 1) return dataset_->evaluate(results, options_);
  std::string bytes;
  if (world().is_main()) bytes = pack(dataset_->evaluate(results, options_));
  world().broadcast(bytes);
  return unpack_report(bytes);
}

bool EvalHook::greater_is_better(const std::string& key) const {
  if (!rule_.empty()) return rule_ == "greater";
  if (contains_any(key, less_keys_)) return false;
  if (contains_any(key, greater_keys_)) return true;
  throw UserError(
      str_cat("evaluation.save_best: whether more or less '", key,
              "' is better cannot be told from its name; set evaluation.rule to greater or less"));
}

bool EvalHook::better(double score) const {
  if (!std::isfinite(score)) return false;
  if (!best_score_) return true;
  return greater_is_better(save_best_) ? score > *best_score_ : score < *best_score_;
}

void EvalHook::keep_if_best(Runner& runner, const EvalReport& report, const std::string& when) {
  if (report.metrics.empty()) {
    log_warning("the evaluation gave no result; the best checkpoint stays as it is");
    return;
  }
  if (save_best_ == "auto") save_best_ = report.metrics[0].first;
  std::vector<std::string> known;
  const double* score = nullptr;
  for (const auto& [name, value] : report.metrics) {
    known.push_back(name);
    if (name == save_best_) score = &value;
  }
  if (score == nullptr)
    throw UserError(str_cat("evaluation.save_best: no metric '", save_best_, "'; there are: ", join(known)));
  greater_is_better(save_best_);  // an unclear rule is an error at the first evaluation already
  if (!better(*score)) return;
  best_score_ = *score;
  const std::string previous = best_ckpt_;
  best_ckpt_ = fs::path(out_dir_) / str_cat("best_", save_best_, "_", when, ".safetensors");
  const Checkpoint checkpoint = runner.checkpoint();
  const std::string bad = first_nonfinite(checkpoint);
  if (!bad.empty()) {
    log_error("the checkpoint holds a non-finite tensor (" + bad + "): not saved as best");
    best_ckpt_ = previous;
    return;
  }
  if (!world().is_main()) return;
  write_checkpoint(best_ckpt_, checkpoint);
  if (!previous.empty() && previous != best_ckpt_) fs::remove(previous);
  log_info(str_cat("Now best checkpoint is saved as ", fs::path(best_ckpt_).filename().string(), "."));
  log_info(str_cat("Best ", save_best_, " is ", *score, " at ",
                   by_epoch_ ? runner.epoch() + 1 : runner.iter() + 1, by_epoch_ ? " epoch." : " iter."));
}

void EvalHook::save_state(StateDict& state) const {
  if (!best_score_) return;
  put_number(state, "best_score", *best_score_);
  put_text(state, "best_ckpt", best_ckpt_);
  put_text(state, "save_best", save_best_);
}

void EvalHook::load_state(const StateDict& state) {
  const std::string key = find_text(state, "save_best").value_or("");
  if (key.empty() || (save_best_ != key && save_best_ != "auto")) return;  // another metric counts now
  save_best_ = key;
  best_score_ = find_number(state, "best_score");
  best_ckpt_ = find_text(state, "best_ckpt").value_or("");
}

}  // namespace osprey
