#include "tools/training.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <random>

#include "core/backend/dense_math.h"
#include "core/backend/device_backend.h"
#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/data/device_loader.h"
#include "core/io/atomic_file.h"
#include "core/parallel/communicator.h"
#include "core/runner/environment.h"
#include "core/runner/load_weights.h"
#include "hooks/default_hooks.h"
#include "hooks/eval_hook.h"
#include "models/pretrained.h"
#include "tools/detector_config.h"
#include "tools/device_choice.h"
#include "tools/interrupt_guard.h"
#include "tools/plugins/plugins.h"
#include "tools/rehearsal.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &local);
  return text;
}

std::string text_or(const ConfigNode& node, const std::string& fallback) {
  return node.is_null() ? fallback : node.as<std::string>();
}

// Keys that mean something to other tools, to several processes, or to mmdetection only.
void mark_foreign_keys(const ConfigNode& config) {
  for (const char* key :
       {"dist_params", "gpu_ids", "device", "exp_name", "opencv_num_threads", "mp_start_method"})
    config.find(key).mark_read();
  const ConfigNode data = config["data"];
  for (const char* key : {"test", "train_dataloader", "val_dataloader", "test_dataloader"})
    data.find(key).mark_read();
}

// On all ranks together.
int64_t images_of_step(const ConfigNode& config) {
  return read_loader_options(config["data"]).samples_per_gpu * world().size();
}

// mmcv's older configs say total_epochs instead of a runner block.
ConfigNode runner_config(const ConfigNode& config) {
  const ConfigNode runner = config.find("runner");
  if (!runner.is_null()) return runner;
  return parse_config("{type: EpochBasedRunner}", "runner")
      .with("max_epochs", config.get<int64_t>("total_epochs", positive()));
}

}  // namespace

Training::Training(const TrainOptions& options) : options_(options) {
  config_ = load_plugins(load_config(options.config, options.cfg_options));
  set_log_level(config_.get("log_level", "INFO"));
  device_ = choose_device(options);
  choose_paths();
  require_same_start();
  choose_seed();
  config_ = with_scaled_lr(config_, options.auto_scale_lr, images_of_step(config_));
  build_data();
  build_model();
  build_runner();
  mark_foreign_keys(config_);
  require_all_read(config_);
  runner_->check();
  // A wrong config has ended above, with its message alone.
  if (!options.check) open_work_dir();
  load_checkpoints();
  if (options.check) rehearse(*model_, *train_set_, config_);
}

void Training::choose_paths() {
  stem_ = fs::path(options_.config).stem();
  work_dir_ = text_or(config_.find("work_dir"), "./work_dirs/" + stem_);
  if (!options_.work_dir.empty()) work_dir_ = options_.work_dir;
  timestamp_ = time_stamp();
  load_from_ = text_or(config_.find("load_from"), "");
  resume_path_ = text_or(config_.find("resume_from"), "");
  if (!options_.resume_from.empty()) resume_path_ = options_.resume_from;
  const bool wants_latest = config_.get("auto_resume", false) || options_.auto_resume;
  read_resume_point(wants_latest);
  if (!load_from_.empty()) load_from_ = resolve_checkpoint(load_from_);
}

// A file that the user names must be whole; of a work directory's the newest that is.
void Training::read_resume_point(bool wants_latest) {
  if (!resume_path_.empty()) {
    resume_ = read_checkpoint(resume_path_);
    return;
  }
  if (!wants_latest) return;
  std::vector<std::string> damaged;
  for (const std::string& path : find_checkpoints(work_dir_, &damaged)) {
    try {
      resume_ = read_checkpoint(path);
      const std::string bad = first_nonfinite(resume_);
      if (!bad.empty()) throw UserError(str_cat(path, ": holds a non-finite tensor (", bad, ")"));
      resume_path_ = path;
      break;
    } catch (const UserError& error) {
      damaged.push_back(error.what());
    }
  }
  if (damaged.empty()) return;
  if (resume_path_.empty())
    throw UserError(str_cat("--auto-resume: no checkpoint is left to go on from (", join(damaged, "; "),
                            "); remove the damaged files, or train without it"));
  for (const std::string& reason : damaged) log_warning(reason + "; passed over for " + resume_path_);
}

// Ranks on machines that do not share their files may read another config or another checkpoint.
void Training::require_same_start() const {
  const std::string own = str_cat("resumes at iteration ", resume_path_.empty() ? 0 : resume_.meta.iter,
                                  ", config:\n", config_.to_yaml());
  std::string of_main = own;
  world().broadcast(of_main);
  if (!world().any(own != of_main)) return;
  throw UserError(options_.config +
                  ": the ranks have read different configs or checkpoints to resume from; "
                  "config and work_dir must be the same files for all of them");
}

// Log, a copy of the config that can be trained from again, and the head of the log as mmdetection writes it.
void Training::open_work_dir() {
  if (!world().is_main()) return;
  std::error_code error;
  fs::create_directories(work_dir_, error);
  if (error) throw UserError(str_cat("work_dir ", work_dir_, ": ", error.message()));
  add_log_file(work_dir_ + "/" + timestamp_ + ".log");
  write_file_atomically(work_dir_ + "/" + stem_ + ".yaml", config_.to_yaml());
  const std::string rule(60, '-');
  log_info("Environment info:\n" + rule + "\n" + environment_info() + "\n" + rule);
  log_info(str_cat("Distributed training: ", world().size() > 1 ? "True" : "False"));
  if (world().size() > 1) log_info(str_cat("ranks: ", world().size(), ", threads of each: ", num_threads()));
  log_info("Config:\n" + config_.to_yaml());
  log_info(str_cat("Set random seed to ", seed_, ", deterministic: ", deterministic_ ? "True" : "False"));
  const std::string advice = lr_advice(config_["optimizer"].get<std::string>("type"),
                                       runner_->optimizer().base_lr(), images_of_step(config_));
  if (!advice.empty()) log_warning(advice);
}

// --seed, else the config's, else that of the run to be continued, else a fresh one: never none, so that
// every run can be repeated.
void Training::choose_seed() {
  const ConfigNode configured = config_.find("seed");
  if (options_.seed) {
    seed_ = *options_.seed;
  } else if (!configured.is_null()) {
    seed_ = static_cast<uint64_t>(configured.as<int64_t>(non_negative()));
  } else if (!resume_path_.empty()) {
    seed_ = resume_.meta.seed;
  } else {
    seed_ = std::random_device{}();
  }
  std::string agreed = std::to_string(seed_);  // a fresh one is rank 0's
  world().broadcast(agreed);
  seed_ = std::stoull(agreed);
  deterministic_ = config_.get("deterministic", false) || options_.deterministic;
  dense_math_policy().deterministic = deterministic_;
  dense_math_policy().benchmark = config_.get("cudnn_benchmark", false);
  dense_math_policy().allow_tf32 = config_.get("allow_tf32", false);
}

void Training::build_data() {
  const ConfigNode data = config_["data"];
  LoaderOptions loader = read_loader_options(data);
  loader.seed = seed_;
  loader.rank = world().rank();
  loader.world_size = world().size();
  train_set_ = build_dataset(data["train"]);
  const ConfigNode flows = config_.find("workflow");
  const auto add = [&](bool train, int64_t count) {
    // As mmdetection: losses on the validation images need the training pipeline.
    const std::shared_ptr<const Dataset> set =
        train ? train_set_ : build_dataset(data["val"].with("pipeline", data["train"]["pipeline"]));
    sources_.push_back(std::make_unique<DataLoader>(set, loader));
    if (const DeviceBackend* backend = device_backend(device_.type)) {
      sources_.back() =
          std::make_unique<DeviceLoader>(std::move(sources_.back()), backend->make_uploader(device_));
    }
    workflow_.push_back({train, count, sources_.back().get()});
  };
  if (flows.is_null()) return add(true, 1);
  for (const ConfigNode& flow : flows.items()) {
    if (flow.size() != 2) flow.fail("a step of the workflow is [train | val, count]");
    const std::string mode = flow.at(0).as<std::string>();
    if (mode != "train" && mode != "val") flow.fail("unknown mode '" + mode + "'; allowed: train, val");
    add(mode == "train", flow.at(1).as<int64_t>(positive()));
  }
  if (std::none_of(workflow_.begin(), workflow_.end(), [](const WorkflowStep& step) { return step.train; }))
    flows.fail("no step trains, so training would never end; e.g. [[train, 1]]");
}

void Training::build_model() {
  const bool checkpoint_follows = !resume_path_.empty() || !load_from_.empty();
  const ConfigNode model = detector_config(config_);
  model_ = build<Detector>(checkpoint_follows ? without_pretrained(model) : model);
  model_->assign_paths();
  model_->init_weights(seed_);
  model_->to(device_);
  check_semantic_labels(*model_, *train_set_, config_);
}

void Training::build_runner() {
  const ConfigNode cfg = runner_config(config_);
  runner_ = build<Runner>(cfg);
  RunnerContext context;
  context.model = model_.get();
  context.config = config_;
  context.work_dir = work_dir_;
  context.exp_name = fs::path(options_.config).filename();
  context.timestamp = timestamp_;
  context.env_info = environment_info();
  context.seed = seed_;
  context.classes = train_set_->classes();
  runner_->set_up(context);
  register_training_hooks(*runner_, config_);
  if (world().size() > 1 && runner_->max_epochs() > 0)  // as mmdetection
    runner_->register_hook(build<Hook>(parse_config("{type: DistSamplerSeedHook}")));
  const ConfigNode evaluation = config_.find("evaluation");
  if (options_.no_validate || evaluation.is_null()) {
    evaluation.mark_read();
    config_["data"].find("val").mark_read();  // only an evaluation reads all of it
  } else {
    const bool by_epoch = runner_->max_epochs() > 0;
    const ConfigNode hook = evaluation.has("by_epoch") ? evaluation : evaluation.with("by_epoch", by_epoch);
    const int workers = read_loader_options(config_["data"]).workers_per_gpu;
    runner_->register_hook(Hook::identify(
        "EvalHook", std::make_unique<EvalHook>(hook, build_dataset(config_["data"]["val"]), workers)));
    const ConfigNode val = config_["data"]["val"];
    if (val.is_map()) val.find("samples_per_gpu").mark_read();  // images go one by one
  }
  register_custom_hooks(*runner_, config_);
}

void Training::load_checkpoints() {
  if (!resume_path_.empty()) {
    log_info("resume from " + resume_path_);
    runner_->resume(resume_, resume_path_);
    resume_ = Checkpoint();
  } else if (!load_from_.empty()) {
    log_info("load checkpoint from " + load_from_);
    load_weights(*model_, read_weights(load_from_), load_from_);
  }
}

void Training::run() {
  const int64_t first = runner_->iter();
  const InterruptGuard guard(*runner_);
  runner_->run(workflow_);
  // Whoever started this run, perhaps a script, must not take its checkpoint for a trained model.
  const int64_t done = runner_->iter() - first;
  if (done > 0 && runner_->committed_iters() == 0)
    throw Error(str_cat("nothing was learned: all ", done,
                        " iterations of this run were skipped, the last because of ",
                        runner_->skips().last_reason()));
}

ConfigNode with_scaled_lr(const ConfigNode& config, bool wanted, int64_t batch_size) {
  const ConfigNode scaling = config.find("auto_scale_lr");
  const bool enabled = scaling.is_map() && scaling.get("enable", false);
  const int64_t base = scaling.is_map() ? scaling.get("base_batch_size", int64_t{16}, positive()) : 16;
  if (!wanted && !enabled) return config;
  const ConfigNode optimizer = config["optimizer"];
  const double lr = optimizer.get<double>("lr", non_negative());
  const double scaled = lr * static_cast<double>(batch_size) / static_cast<double>(base);
  log_info(str_cat("auto_scale_lr: batch ", batch_size, ", base_batch_size ", base, ": lr ", lr, " becomes ",
                   scaled));
  const ConfigNode result = config.with("optimizer", optimizer.with("lr", scaled));
  // The dump holds the scaled rate, and must not scale it again.
  return enabled ? result.with("auto_scale_lr", scaling.with("enable", false)) : result;
}

std::string lr_advice(const std::string& optimizer, double lr, int64_t batch_size, int64_t base_batch_size) {
  constexpr double kBaseLr = 0.02;
  const double fitting = kBaseLr * static_cast<double>(batch_size) / static_cast<double>(base_batch_size);
  if (optimizer != "SGD" || lr <= 4 * fitting) return "";
  return str_cat("optimizer.lr ", lr, " is ", lr / fitting, " times the linear scaling rule for a batch of ",
                 batch_size, " (mmdetection: 0.02 for ", base_batch_size,
                 "); such a rate often ends in loss: nan. Consider --cfg-options optimizer.lr=", fitting);
}

}  // namespace osprey
