#include "hooks/text_logger_hook.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/logging.h"
#include "core/parallel/communicator.h"
#include "core/tensor/storage.h"

namespace osprey {
namespace {

using Json = nlohmann::ordered_json;

template <typename... Args>
std::string format(const char* pattern, Args... args) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

// As mmcv rounds; nlohmann writes non-finite numbers as null by itself.
double round5(double value) { return std::isfinite(value) ? std::round(value * 1e5) / 1e5 : value; }

// Python's timedelta: "2:36:29", "1 day, 0:00:01".
std::string timedelta(double seconds) {
  const int64_t total = static_cast<int64_t>(std::max(seconds, 0.0));
  const int64_t days = total / 86400;
  const std::string clock = format("%d:%02d:%02d", static_cast<int>(total % 86400 / 3600),
                                   static_cast<int>(total % 3600 / 60), static_cast<int>(total % 60));
  if (days == 0) return clock;
  return str_cat(days, days == 1 ? " day, " : " days, ", clock);
}

}  // namespace

struct TextLoggerHook::Line {
  bool train = true;
  int64_t epoch = 0;
  int64_t iter = 0;
  double lr = 0;
  std::optional<double> momentum;  // where a schedule moves it
  std::optional<int64_t> memory;   // MB, the peak
  LogBuffer::Values values;
  std::vector<std::pair<std::string, std::string>> texts;
  int64_t skipped = 0;
  std::string skip_reason;
};

TextLoggerHook::TextLoggerHook(const ConfigNode& cfg)
    : LoggerHook(cfg), interval_exp_name_(cfg.get("interval_exp_name", int64_t{1000}, positive())) {}

void TextLoggerHook::before_run(Runner& runner) {
  LoggerHook::before_run(runner);
  start_iter_ = runner.iter();
  if (!world().is_main()) return;
  json_path_ = runner.work_dir() + "/" + runner.timestamp() + ".log.json";
  const Json meta = {{"env_info", runner.env_info()},
                     {"config", runner.config().to_yaml()},
                     {"seed", runner.seed()},
                     {"device", str_cat(runner.model_device())},
                     {"precision", name_of(runner.weights().precision())},
                     {"exp_name", runner.exp_name()}};
  write_json(meta.dump(-1, ' ', false, Json::error_handler_t::replace));
}

TextLoggerHook::Line TextLoggerHook::collect(Runner& runner) const {
  const LogBuffer& buffer = runner.log_buffer();
  Line line;
  line.train = logs_training(runner);
  line.epoch = runner.epoch() + (runner.training() ? 1 : 0);
  line.iter = runner.training() && by_epoch() ? runner.inner_iter() + 1 : runner.iter() + 1;
  line.lr = runner.current_lr();
  if (momentum_is_scheduled(runner)) line.momentum = runner.optimizer().groups().at(0).momentum;
  for (const auto& [name, value] : buffer.output()) {
    if (name == "eval_iter_num") {
      line.iter = static_cast<int64_t>(value);
    } else {
      line.values.emplace_back(name, value);
    }
  }
  line.texts = buffer.texts();
  if (!runner.training()) line.iter = runner.epoch_length();
  if (!line.train) return line;
  const int64_t peak = memory_stats(runner.model_device().type).peak_bytes;
  line.memory = static_cast<int64_t>(world().max(static_cast<double>(peak))) >> 20;  // of any rank
  if (runner.step_hook().loss_scale() != 1)
    line.values.emplace_back("loss_scale", runner.step_hook().loss_scale());
  line.skipped = runner.skips().total() - skips_logged_;
  if (line.skipped > 0) line.skip_reason = runner.skips().last_reason();
  return line;
}

void TextLoggerHook::log(Runner& runner) {
  if (runner.every_n_iters(interval_exp_name_) || (by_epoch() && runner.end_of_epoch()))
    log_info("Exp name: " + runner.exp_name());
  const Line line = collect(runner);
  if (line.train) skips_logged_ = runner.skips().total();
  if (!world().is_main()) return;
  log_info(text_of(runner, line));
  Json json = {{"mode", line.train ? "train" : "val"},
               {"epoch", line.epoch},
               {"iter", line.iter},
               {"lr", round5(line.lr)}};
  if (line.momentum) json["momentum"] = round5(*line.momentum);
  if (line.memory) json["memory"] = *line.memory;
  for (const auto& [name, value] : line.values) json[name] = round5(value);
  for (const auto& [name, text] : line.texts) json[name] = text;
  if (line.skipped > 0) {
    json["skipped"] = line.skipped;
    json["skip_reason"] = line.skip_reason;
  }
  write_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string TextLoggerHook::text_of(Runner& runner, const Line& line) {
  std::string text;
  if (line.train) {
    text = by_epoch() ? str_cat("Epoch [", line.epoch, "][", line.iter, "/", runner.epoch_length(), "]\t")
                      : str_cat("Iter [", line.iter, "/", runner.max_iters(), "]\t");
    text += format("lr: %.3e, ", line.lr);
    if (line.momentum) text += format("momentum: %.4f, ", *line.momentum);
  } else {
    text = by_epoch() ? str_cat("Epoch(val) [", line.epoch, "][", line.iter, "]\t")
                      : str_cat("Iter(val) [", line.iter, "]\t");
  }
  std::vector<std::string> items;
  std::string time, data_time;
  for (const auto& [name, value] : line.values) {
    if (name == "time") {
      time = format("time: %.3f", value);
      if (line.train) time = "eta: " + eta(runner, value) + ", " + time;
    } else if (name == "data_time") {
      data_time = format("data_time: %.3f", value);
    } else {
      items.push_back(name + ": " + format(name == "loss_scale" ? "%.0f" : "%.4f", value));
    }
  }
  for (const auto& [name, content] : line.texts) items.push_back(name + ": " + content);
  if (line.skipped > 0) items.push_back(str_cat("skipped: ", line.skipped, "/", interval()));
  if (line.memory) items.insert(items.begin(), str_cat("memory: ", *line.memory));
  if (!data_time.empty()) items.insert(items.begin(), data_time);
  if (!time.empty()) items.insert(items.begin(), time);
  return text + join(items);
}

std::string TextLoggerHook::eta(Runner& runner, double time) {
  time_sec_tot_ += time * static_cast<double>(interval());
  const double average = time_sec_tot_ / static_cast<double>(runner.iter() - start_iter_ + 1);
  return timedelta(average * static_cast<double>(runner.max_iters() - runner.iter() - 1));
}

void TextLoggerHook::write_json(const std::string& text) const {
  std::ofstream out(json_path_, std::ios::app);
  out << text << '\n';
  if (!out.flush()) throw UserError(json_path_ + ": cannot write the log");
}

OSPREY_REGISTER_HOOK(TextLoggerHook);

}  // namespace osprey
