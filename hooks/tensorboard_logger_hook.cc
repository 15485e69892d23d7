#include <filesystem>
#include <memory>

#include "core/io/event_file.h"
#include "core/parallel/communicator.h"
#include "core/runner/runner.h"
#include "hooks/logger_hook.h"

namespace osprey {
namespace {

// Writes the logged values as TensorBoard events, under mmcv's tags: train/loss, val/bbox_mAP, learning_rate,
// momentum; the x axis counts iterations. Keys: those of LoggerHook, log_dir (<work_dir>/tf_logs).
class TensorboardLoggerHook final : public LoggerHook {
 public:
  explicit TensorboardLoggerHook(const ConfigNode& cfg) : LoggerHook(cfg), log_dir_(cfg.get("log_dir", "")) {}

  void before_run(Runner& runner) override {
    LoggerHook::before_run(runner);
    if (!world().is_main()) return;
    if (log_dir_.empty()) log_dir_ = (std::filesystem::path(runner.work_dir()) / "tf_logs").string();
    events_ = std::make_unique<EventFile>(log_dir_);
  }

 protected:
  void log(Runner& runner) override {
    if (!events_) return;
    const std::string mode = logs_training(runner) ? "train/" : "val/";
    std::vector<EventFile::Scalar> scalars;
    for (const auto& [name, value] : runner.log_buffer().output()) {
      if (name != "time" && name != "data_time" && name != "eval_iter_num")
        scalars.push_back({mode + name, value});
    }
    const ParamGroup& group = runner.optimizer().groups().at(0);
    scalars.push_back({"learning_rate", group.lr});
    scalars.push_back({"momentum", group.momentum});
    // A validation follows its iteration: the counter has moved on by then.
    const int64_t step = runner.iter() + (runner.training() && runner.inside_iteration() ? 1 : 0);
    events_->add_scalars(step, scalars);
    for (const auto& [name, text] : runner.log_buffer().texts()) events_->add_text(step, mode + name, text);
  }

 private:
  std::string log_dir_;
  std::unique_ptr<EventFile> events_;  // rank 0's
};

OSPREY_REGISTER_HOOK(TensorboardLoggerHook);

}  // namespace
}  // namespace osprey
