#include <filesystem>

#include "core/base/logging.h"
#include "core/runner/hook_state.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// Saves epoch_N.safetensors or iter_N.safetensors (N: finished epochs or iterations), whole or not at all,
// and points latest.safetensors to it. A checkpoint with a non-finite weight is written, for whoever looks
// into the accident, but is never the latest. Keys: interval (-1: never), by_epoch (true), save_optimizer
// (true), out_dir (work_dir), max_keep_ckpts (-1: all), save_last (true), create_symlink (true).
class CheckpointHook final : public Hook {
 public:
  explicit CheckpointHook(const ConfigNode& cfg)
      : interval_(cfg.get("interval", int64_t{-1})),
        by_epoch_(cfg.get("by_epoch", true)),
        save_optimizer_(cfg.get("save_optimizer", true)),
        out_dir_(cfg.get("out_dir", "")),
        max_keep_ckpts_(cfg.get("max_keep_ckpts", int64_t{-1})),
        save_last_(cfg.get("save_last", true)),
        create_symlink_(cfg.get("create_symlink", true)) {
    cfg.get("sync_buffer", false);  // between processes; a single one has nothing to synchronise
  }

  void before_run(Runner& runner) override {
    if (out_dir_.empty()) {
      out_dir_ = runner.work_dir();
    } else {  // as mmcv: a folder of this run below out_dir
      out_dir_ = fs::path(out_dir_) / fs::path(runner.work_dir()).lexically_normal().filename();
      log_info("Checkpoints will be saved to " + out_dir_);
    }
  }

  void after_train_epoch(Runner& runner) override {
    if (!by_epoch_) return;
    const bool last = runner.epoch() + 1 == runner.max_epochs();
    if (!runner.every_n_epochs(interval_) && !(save_last_ && last)) return;
    log_info(str_cat("Saving checkpoint at ", runner.epoch() + 1, " epochs"));
    save(runner, "epoch_", runner.epoch() + 1);
  }

  void after_iter(Runner& runner) override {
    if (by_epoch_ || !runner.training()) return;
    const bool last = runner.iter() + 1 == runner.max_iters();
    if (!runner.every_n_iters(interval_) && !(save_last_ && last)) return;
    log_info(str_cat("Saving checkpoint at ", runner.iter() + 1, " iterations"));
    save(runner, "iter_", runner.iter() + 1);
  }

  void save_state(StateDict& state) const override {
    if (!last_ckpt_.empty()) put_text(state, "last_ckpt", last_ckpt_);
  }
  void load_state(const StateDict& state) override {
    last_ckpt_ = find_text(state, "last_ckpt").value_or("");
  }

 private:
  static std::string file_name(const std::string& prefix, int64_t number) {
    return str_cat(prefix, number, ".safetensors");
  }

  void save(Runner& runner, const std::string& prefix, int64_t number) {
    const std::string name = file_name(prefix, number);
    last_ckpt_ = fs::path(out_dir_) / name;
    Checkpoint checkpoint = runner.checkpoint();
    if (!save_optimizer_) checkpoint.optimizer = StateDict();
    write_checkpoint(last_ckpt_, checkpoint);
    const std::string bad = first_nonfinite(checkpoint);
    if (!bad.empty()) {
      log_error(str_cat(last_ckpt_, " holds a non-finite tensor (", bad,
                        "); it does not become latest.safetensors"));
    } else if (create_symlink_) {
      point_link(out_dir_, "latest.safetensors", name);
    }
    remove_old(prefix, number);
  }

  void remove_old(const std::string& prefix, int64_t number) const {
    if (max_keep_ckpts_ <= 0 || interval_ <= 0) return;
    for (int64_t old = number - max_keep_ckpts_ * interval_; old > 0; old -= interval_) {
      std::error_code ignored;
      if (!fs::remove(fs::path(out_dir_) / file_name(prefix, old), ignored)) break;
    }
  }

  int64_t interval_;
  bool by_epoch_;
  bool save_optimizer_;
  std::string out_dir_;
  int64_t max_keep_ckpts_;
  bool save_last_;
  bool create_symlink_;
  std::string last_ckpt_;
};

OSPREY_REGISTER_HOOK(CheckpointHook);

}  // namespace
}  // namespace osprey
