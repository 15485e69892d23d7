#include <filesystem>

#include "core/base/logging.h"
#include "core/parallel/communicator.h"
#include "core/runner/hook_state.h"
#include "core/runner/over_ranks.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// A positive number, or -1 for mmcv's "never" or "all".
int64_t read_count(const ConfigNode& cfg, const char* key) {
  const int64_t count = cfg.get(key, int64_t{-1}, at_least(-1));
  if (count == 0) cfg[key].fail("must be > 0, or -1, got 0");
  return count;
}

// Saves epoch_N.safetensors or iter_N.safetensors (N: finished epochs or iterations), whole or not at all,
// and points latest.safetensors to it. A checkpoint with a non-finite weight is written, for whoever looks
// into the accident, but is never the latest. Keys: interval (-1: never), by_epoch (true), save_optimizer
// (true), out_dir (work_dir), max_keep_ckpts (-1: all), save_last (true), create_symlink (true),
// sync_buffer (false: rank 0's BatchNorm statistics; else all ranks'
// mean), filename_tmpl ("epoch_{}.safetensors" or "iter_{}.safetensors"; a name in .pth is PyTorch's format).
class CheckpointHook final : public Hook {
 public:
  explicit CheckpointHook(const ConfigNode& cfg)
      : interval_(read_count(cfg, "interval")),
        by_epoch_(cfg.get("by_epoch", true)),
        save_optimizer_(cfg.get("save_optimizer", true)),
        out_dir_(cfg.get("out_dir", "")),
        max_keep_ckpts_(read_count(cfg, "max_keep_ckpts")),
        save_last_(cfg.get("save_last", true)),
        create_symlink_(cfg.get("create_symlink", true)),
        sync_buffer_(cfg.get("sync_buffer", false)) {
    read_template(cfg);
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
    save(runner, runner.epoch() + 1);
  }

  void after_iter(Runner& runner) override {
    if (by_epoch_ || !runner.training()) return;
    const bool last = runner.iter() + 1 == runner.max_iters();
    if (!runner.every_n_iters(interval_) && !(save_last_ && last)) return;
    log_info(str_cat("Saving checkpoint at ", runner.iter() + 1, " iterations"));
    save(runner, runner.iter() + 1);
  }

  void save_state(StateDict& state) const override {
    if (!last_ckpt_.empty()) put_text(state, "last_ckpt", last_ckpt_);
  }
  void load_state(const StateDict& state) override {
    last_ckpt_ = find_text(state, "last_ckpt").value_or("");
  }

 private:
  void read_template(const ConfigNode& cfg) {
    const std::string name =
        cfg.get("filename_tmpl", by_epoch_ ? "epoch_{}.safetensors" : "iter_{}.safetensors");
    const size_t hole = name.find("{}");
    if (hole == std::string::npos || !(ends_with(name, ".safetensors") || ends_with(name, ".pth")))
      cfg["filename_tmpl"].fail("must have {} for the number and end in .safetensors or .pth");
    before_number_ = name.substr(0, hole);
    behind_number_ = name.substr(hole + 2);
    latest_ = "latest" + fs::path(name).extension().string();
  }

  std::string file_name(int64_t number) const { return str_cat(before_number_, number, behind_number_); }

  void save(Runner& runner, int64_t number) {
    const std::string name = file_name(number);
    last_ckpt_ = fs::path(out_dir_) / name;
    if (sync_buffer_) average_buffers(runner.model());
    Checkpoint checkpoint = runner.checkpoint();
    if (!save_optimizer_) {
      checkpoint.optimizer = StateDict();
      checkpoint.param_groups.clear();
    }
    const std::string bad = first_nonfinite(checkpoint);
    if (world().is_main()) write_checkpoint(last_ckpt_, checkpoint);
    if (bad.empty()) runner.note_checkpoint(last_ckpt_);  // every rank can tell what an interruption loses
    if (!world().is_main()) return;
    if (!bad.empty()) {
      log_error(str_cat(last_ckpt_, " holds a non-finite tensor (", bad, "); it does not become ", latest_));
    } else if (create_symlink_) {
      point_link(out_dir_, latest_, name);
    }
    remove_old(number);
  }

  void remove_old(int64_t number) const {
    if (max_keep_ckpts_ <= 0 || interval_ <= 0) return;
    for (int64_t old = number - max_keep_ckpts_ * interval_; old > 0; old -= interval_) {
      std::error_code ignored;
      if (!fs::remove(fs::path(out_dir_) / file_name(old), ignored)) break;
    }
  }

  int64_t interval_;
  bool by_epoch_;
  bool save_optimizer_;
  std::string out_dir_;
  int64_t max_keep_ckpts_;
  bool save_last_;
  bool create_symlink_;
  bool sync_buffer_;
  std::string before_number_, behind_number_;  // of filename_tmpl
  std::string latest_;                         // name of the link
  std::string last_ckpt_;
};

OSPREY_REGISTER_HOOK(CheckpointHook);

}  // namespace
}  // namespace osprey
