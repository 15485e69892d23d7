#include "core/runner/runner.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/ops/fetch.h"
#include "core/optim/param_groups.h"
#include "core/parallel/communicator.h"
#include "core/runner/bad_input.h"
#include "core/runner/forensics.h"
#include "core/runner/load_weights.h"
#include "core/runner/over_ranks.h"
#include "core/runner/resume_report.h"
#include "core/runner/version.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(Runner, "runner");

namespace {

std::string local_time() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  ctime_r(&now, text);
  std::string result = text;
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result;
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_info() {
  char host[256] = "unknown";
  ::gethostname(host, sizeof host - 1);
  const char* user = std::getenv("USER");
  return str_cat(user ? user : "unknown", "@", host);
}

std::string describe_workflow(const std::vector<WorkflowStep>& workflow) {
  std::vector<std::string> steps;
  for (const WorkflowStep& step : workflow)
    steps.push_back(str_cat("('", step.train ? "train" : "val", "', ", step.count, ")"));
  return "[" + join(steps) + "]";
}

// What an interrupted run loses.
std::string since_checkpoint(const std::string& path, int64_t lost) {
  if (path.empty()) return "no checkpoint was saved, all of it is lost";
  const std::string cure = "; --auto-resume goes on from there";
  if (lost == 0) return "all of it is in " + path + cure;
  if (lost == 1) return "1 iteration since " + path + " is lost" + cure;
  return str_cat(lost, " iterations since ", path, " are lost", cure);
}

// A drill that changed nothing must not pass for one that was survived.
void report_idle_drill(const FireDrill& drill) {
  if (drill.armed())
    log_warning("fire drill: nothing that debug.inject names was computed in this iteration");
  if (drill.fired().empty()) return;
  log_warning(str_cat("fire drill ", drill.fired(),
                      ": put in, but losses and gradients stayed finite (a ReLU may hide one element); the "
                      "iteration is committed"));
}

// Fire drills see every op of their iteration; nothing is installed otherwise. Whoever else watches this
// iteration stops with it, too, also when it throws.
class DrillObserver {
 public:
  explicit DrillObserver(FireDrill& drill) {
    if (drill.armed()) set_op_observer([&drill](const OpEvent& event) { drill.on_op(event); });
  }
  ~DrillObserver() { set_op_observer(nullptr); }
  DrillObserver(const DrillObserver&) = delete;
  DrillObserver& operator=(const DrillObserver&) = delete;
};

}  // namespace

Runner::Runner(const ConfigNode&) {}
Runner::~Runner() = default;

void Runner::set_up(const RunnerContext& context) {
  context_ = context;
  model().assign_paths();
  const ConfigNode debug = config().find("debug");
  fire_drill_ = FireDrill(debug);
  wants_black_box_ = debug.is_null() || debug.get("black_box", true);
  fire_drill_.check(model());
  skips_ = std::make_unique<SkipMonitor>(config());
  headroom_ = std::make_unique<HeadroomWatch>(config());
  weights_ = std::make_unique<MasterWeights>(model());
  const ConfigNode optimizer_cfg = config()["optimizer"];
  optimizer_ = build<Optimizer>(optimizer_cfg);
  std::vector<MasterParameter*> masters;  // the frozen ones too: PyTorch numbers them with the others
  for (const auto& master : weights_->all()) masters.push_back(master.get());
  optimizer_->set_groups(build_param_groups(optimizer_cfg, *optimizer_, masters));
}

void Runner::register_hook(std::unique_ptr<Hook> hook, std::optional<Priority> priority) {
  const Priority own = priority.value_or(hook->priority());
  if (StepHook* step = hook->as_step_hook()) {
    if (step_hook_ != nullptr) {
      throw UserError(str_cat("two optimizer hooks: ", step_hook_->name(), " and ", hook->name(),
                              "; set optimizer_config.type instead of adding one to custom_hooks"));
    }
    step_hook_ = step;
  }
  size_t place = hooks_.size();
  while (place > 0 && static_cast<int>(priorities_[place - 1]) > static_cast<int>(own)) --place;
  hooks_.insert(hooks_.begin() + static_cast<int64_t>(place), std::move(hook));
  priorities_.insert(priorities_.begin() + static_cast<int64_t>(place), own);
}

void Runner::check() {
  if (step_hook_ == nullptr) throw UserError("no optimizer hook is registered");
  const std::string bad = first_nonfinite(weights_->state_dict());
  if (!bad.empty()) throw UserError("weights already non-finite before the first iteration: " + bad);
  call_hooks([&](Hook& hook) { hook.check(*this); });
}

void Runner::run(const std::vector<WorkflowStep>& workflow) {
  check();
  if (finished()) {
    log_info(str_cat("nothing is left to train: ", last_checkpoint_.empty() ? "the run" : last_checkpoint_,
                     " is at epoch ", epoch_, ", iter ", iter_, " (", extent(), ")"));
    return;
  }
  for (const WorkflowStep& step : workflow) {  // schedules ask for the length of the run
    if (step.train) epoch_length_ = step.source->batches_per_epoch();
  }
  log_info(str_cat("Start running, host: ", host_info(), ", work_dir: ", work_dir()));
  log_info("Hooks will be executed in the following order:\n" + hook_order());
  log_info(str_cat("workflow: ", describe_workflow(workflow), ", ", extent()));
  broadcast_model(model());
  call_hooks([&](Hook& hook) { hook.before_run(*this); });
  load_hook_states();
  open_black_box();
  train_all(workflow);
  headroom_->report();
  call_hooks([&](Hook& hook) { hook.after_run(*this); });
}

void Runner::throw_if_stopped() const {
  if (world().any(stop_requested_)) throw_interrupted();
}

void Runner::throw_if_stopped_here() const {
  if (stop_requested_) throw_interrupted();
}

void Runner::throw_interrupted() const {
  const int64_t done = iter_ + (inside_iteration_ ? 1 : 0);
  throw Interrupted(str_cat("interrupted after iteration ", done, ": ",
                            since_checkpoint(last_checkpoint_, done - saved_iter_)));
}

void Runner::note_checkpoint(const std::string& path) {
  last_checkpoint_ = path;
  saved_iter_ = iter_ + (inside_iteration_ ? 1 : 0);
}

void Runner::train_iter() {
  inside_iteration_ = true;
  diagnosis_seconds_ = 0;
  log_buffer_.begin_iter(iter_);
  snapshot_hooks();
  fire_drill_.begin(iter_);
  call_hooks([&](Hook& hook) { hook.before_train_iter(*this); });
  BlackBoxEntry entry = black_box_entry();
  if (black_box_) black_box_->begin(entry);
  const Verdict verdict = attempt();
  if (black_box_) finish(entry, verdict.kind);
  switch (verdict.kind) {
    case Verdict::Kind::kCommitted:
      report_idle_drill(fire_drill_);
      commit();
      break;
    case Verdict::Kind::kAccumulating:
      call_hooks([&](Hook& hook) { hook.after_accumulated_iter(*this); });
      break;
    case Verdict::Kind::kSkipped:
      roll_back(verdict.event);
      break;
  }
  inside_iteration_ = false;
  ++iter_;
}

Verdict Runner::attempt() {
  const DrillObserver observer(fire_drill_);
  headroom_->begin(*this);
  batch_.img = batch_.img.to(model_device());
  const LossDict losses = model().forward_train(batch_);
  looked_ = false;
  const Verdict verdict = step_hook_->train_step(*this, losses);
  headroom_->end(*this, verdict.kind == Verdict::Kind::kCommitted);
  if (!looked_) look(losses);
  return verdict;
}

Runner::Look Runner::look(const LossDict& losses, const Tensors& also) {
  Tensors wanted = also;
  for (const auto& [name, value] : losses.entries()) wanted.push_back(value.value());
  wanted.push_back(losses.total().value());
  const Tensors fetched = fetch_together(wanted);
  const auto first_loss = fetched.begin() + static_cast<int64_t>(also.size());
  Look seen;
  seen.also.assign(fetched.begin(), first_loss);
  for (auto it = first_loss; it != fetched.end(); ++it) seen.losses.push_back(it->item());
  for (const double loss : seen.losses) seen.own_finite = seen.own_finite && std::isfinite(loss);
  if (!looked_) {
    average_losses(losses, seen.losses);
    stage_losses(losses, seen.losses);
    if (training_ && loss_watch_.explodes(seen.losses.back())) report_explosion();
  }
  looked_ = true;
  return seen;
}

void Runner::stage_losses(const LossDict& losses, const std::vector<double>& numbers) {
  losses_.clear();
  for (size_t i = 0; i < losses.entries().size(); ++i)
    losses_.emplace_back(losses.entries()[i].first, numbers[i]);
  losses_.emplace_back("loss", numbers.back());
  for (const auto& [name, value] : losses_) log_buffer_.stage(name, value, batch_.size());
}

// A drill is watching the ops itself; it needs no warning of what it does.
void Runner::report_explosion() {
  constexpr int64_t kReported = 5;
  if (fire_drill_.armed() || !fire_drill_.fired().empty() || ++explosions_ > kReported) return;
  headroom_->end(*this, /*committed=*/false);
  const OnOwn on_own;  // all ranks see the same losses; each replays its own batch, rank 0 tells
  const Diagnosis diagnosis = diagnose_explosion(scene(), losses_.back().second, loss_watch_.median());
  log_warning(str_cat("iteration ", iter_ + 1, ": ", diagnosis.text(),
                      explosions_ == kReported ? " (later explosions are not reported)" : ""));
}

void Runner::open_black_box() {
  if (!wants_black_box_ || !world().is_main()) return;
  try {
    black_box_ = std::make_unique<BlackBox>(work_dir() + "/blackbox.bin");
  } catch (const UserError& error) {
    log_warning(str_cat(error.what(), "; the run goes on without one"));
  }
}

// What is known before the iteration.
BlackBoxEntry Runner::black_box_entry() const {
  BlackBoxEntry entry;
  entry.iter = iter_ + 1;
  entry.epoch = epoch_ + 1;
  entry.began = wall_clock();
  entry.lr = current_lr();
  entry.loss_scale = step_hook_->loss_scale();
  entry.grad_norm = std::numeric_limits<double>::quiet_NaN();
  entry.images = image_files(batch_);
  return entry;
}

void Runner::finish(BlackBoxEntry& entry, Verdict::Kind kind) {
  entry.seconds = wall_clock() - entry.began;
  entry.outcome = kind == Verdict::Kind::kCommitted ? BlackBoxEntry::Outcome::kCommitted
                  : kind == Verdict::Kind::kSkipped ? BlackBoxEntry::Outcome::kSkipped
                                                    : BlackBoxEntry::Outcome::kAccumulated;
  if (const double* norm = log_buffer_.find_staged("grad_norm")) entry.grad_norm = *norm;
  entry.losses = losses_;
  black_box_->finish(entry);
}

Scene Runner::scene() {
  return {model(),  weights(),    batch_,         fire_drill_, iter_, step_hook_->loss_factor(*this),
          config(), current_lr(), last_committed_};
}

void Runner::commit() {
  model().commit_buffers();
  log_buffer_.commit();
  skips_->committed();
  ++committed_iters_;
  last_committed_ = iter_ + 1;
  loss_watch_.committed(losses_.back().second);
  call_hooks([&](Hook& hook) { hook.after_train_iter(*this); });
}

void Runner::roll_back(const NonFiniteEvent& event) {
  model().discard_buffers();
  weights_->drop_grads();
  log_buffer_.drop();
  restore_hooks();
  const auto begin = std::chrono::steady_clock::now();
  const std::string reason = skips_->skipped(*this, event);
  diagnosis_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  call_hooks([&](Hook& hook) { hook.after_skipped_iter(*this, reason); });
}

void Runner::val_iter() {
  const NoGradGuard no_grad;
  log_buffer_.begin_iter(inner_iter_);
  call_hooks([&](Hook& hook) { hook.before_val_iter(*this); });
  batch_.img = batch_.img.to(model_device());
  looked_ = false;
  look(model().forward_train(batch_));
  log_buffer_.commit();
  model().discard_buffers();
  call_hooks([&](Hook& hook) { hook.after_val_iter(*this); });
}

void Runner::backward(const Variable& loss, double seed) {
  loss.backward(seed);
  headroom_->see_gradients(model());
  fire_drill_.poison_gradients(model());
}

void Runner::snapshot_hooks() {
  hook_snapshots_.clear();
  for (const auto& hook : hooks_) {
    if (!hook->restore_on_skip()) continue;
    StateDict state, copy;
    hook->save_state(state);
    for (const auto& [name, tensor] : state.entries()) copy.put(name, tensor.clone());
    hook_snapshots_[state_name(*hook)] = std::move(copy);
  }
}

void Runner::restore_hooks() {
  for (const auto& hook : hooks_) {
    const auto snapshot = hook_snapshots_.find(state_name(*hook));
    if (snapshot != hook_snapshots_.end()) hook->load_state(snapshot->second);
  }
}

// "EMAHook", and "EMAHook.1" for a second one.
std::string Runner::state_name(const Hook& hook) const {
  int same = 0;
  for (const auto& other : hooks_) {
    if (other.get() == &hook) break;
    if (other->name() == hook.name()) ++same;
  }
  return same == 0 ? hook.name() : str_cat(hook.name(), ".", same);
}

Device Runner::model_device() const {
  return weights_->all().empty() ? kCPU : weights_->all()[0]->value.device();
}

Checkpoint Runner::checkpoint() {
  Checkpoint checkpoint;
  checkpoint.meta = {epoch_ + (epoch_finished_ ? 1 : 0),
                     iter_ + (inside_iteration_ ? 1 : 0),
                     seed(),
                     config().to_yaml(),
                     exp_name(),
                     classes(),
                     kVersion,
                     local_time(),
                     num_threads(),
                     str_cat(model_device()),
                     /*recorded=*/true,
                     world().size()};
  checkpoint.weights = weights_->state_dict();
  checkpoint.optimizer = optimizer_->state_dict();
  for (const ParamGroup& group : optimizer_->groups()) {
    ParamGroupRecord record{optimizer_->options(group), {}};
    for (const MasterParameter* param : group.params) record.params.push_back(param->name);
    checkpoint.param_groups.push_back(std::move(record));
  }
  for (const auto& hook : hooks_) {
    StateDict state;
    hook->save_state(state);
    if (state.size() > 0) checkpoint.hooks[state_name(*hook)] = std::move(state);
  }
  return checkpoint;
}

void Runner::resume(const Checkpoint& checkpoint, const std::string& path) {
  std::string bad = first_nonfinite(checkpoint.weights);
  if (!bad.empty()) throw UserError(str_cat(path, ": weights already non-finite: ", bad));
  bad = first_nonfinite(checkpoint);  // a moment or a running mean would carry it into the weights
  if (!bad.empty())
    throw UserError(str_cat(path, ": optimizer or hook state already non-finite: ", bad,
                            "; use load_from to start from its weights"));
  if (!checkpoint.meta.recorded)
    throw UserError(
        str_cat(path, ": holds weights only, no run to continue; start from them with load_from=", path));
  const LoadReport report = match_weights(model(), checkpoint.weights);
  if (!report.missing.empty() || !report.mismatched.empty()) {
    throw UserError(str_cat(path,
                            ": cannot resume, it is a checkpoint of another model; start from its "
                            "weights with load_from=",
                            path, ": ", summarise_mismatch(report)));
  }
  if (checkpoint.meta.iter > 0 && checkpoint.optimizer.size() == 0 && checkpoint.param_groups.empty())
    log_warning(path + ": holds no optimizer state: momentum and moments start afresh");
  for (const std::string& name : optimizer_->load_state_dict(checkpoint.optimizer))
    log_warning(path + ": optimizer state '" + name + "' belongs to no trainable parameter; ignored");
  epoch_ = checkpoint.meta.epoch;
  iter_ = checkpoint.meta.iter;
  const int64_t then = checkpoint.meta.world_size;  // as mmcv: so many images were seen
  if (then > 0) iter_ = iter_ * then / world().size();
  note_checkpoint(path);
  resumed_hooks_ = checkpoint.hooks;
  report_resume(*this, checkpoint.meta, path);
  log_info(str_cat("resumed epoch ", epoch_, ", iter ", iter_));
}

void Runner::load_hook_states() {
  for (const auto& hook : hooks_) {
    const auto state = resumed_hooks_.find(state_name(*hook));
    if (state != resumed_hooks_.end()) hook->load_state(state->second);
  }
  resumed_hooks_.clear();
}

}  // namespace osprey
