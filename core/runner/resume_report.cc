#include "core/runner/resume_report.h"

#include <map>
#include <set>

#include "core/base/logging.h"
#include "core/base/parallel.h"
#include "core/parallel/communicator.h"
#include "core/runner/runner.h"

namespace osprey {
namespace {

constexpr const char* kSteering[] = {"optimizer", "optimizer_config", "lr_config", "fp16", "bf16", "runner"};

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

// Leaves of maps as "optimizer.lr" -> YAML text; lists count as leaves. Reading marks nothing new: builders
// have read what they know, and a key that nobody reads must stay an error.
void flatten(const ConfigNode& node, const std::string& path, std::map<std::string, std::string>& leaves) {
  if (!node.is_map()) {
    leaves[path] = one_line(node.to_yaml());
    return;
  }
  for (const std::string& key : node.keys()) flatten(node[key], path + "." + key, leaves);
}

std::map<std::string, std::string> steering_keys(const ConfigNode& config) {
  std::map<std::string, std::string> leaves;
  for (const char* key : kSteering) {
    if (config.has(key)) flatten(config[key], key, leaves);
  }
  if (config.has("data") && config["data"].has("samples_per_gpu"))
    flatten(config["data"]["samples_per_gpu"], "data.samples_per_gpu", leaves);
  return leaves;
}

// mmcv's checkpoints hold a config in Python, which is nothing to compare with.
void report_differences(const ConfigNode& config, const std::string& checkpoint_config,
                        const std::string& path) {
  std::vector<ResumeDifference> differences;
  try {
    differences = resume_differences(config, checkpoint_config);
  } catch (const UserError&) {
    log_info(path + ": its config is not YAML and is not compared with this run's");
  }
  for (const ResumeDifference& d : differences)
    log_warning(str_cat(d.key, ": config ", d.config, ", checkpoint ", d.checkpoint, ": using config"));
}

}  // namespace

std::vector<ResumeDifference> resume_differences(const ConfigNode& config,
                                                 const std::string& checkpoint_config) {
  const auto now = steering_keys(parse_config(config.to_yaml(), "config"));
  const auto then = steering_keys(parse_config(checkpoint_config, "checkpoint"));
  std::set<std::string> keys;
  for (const auto& [key, text] : now) keys.insert(key);
  for (const auto& [key, text] : then) keys.insert(key);
  const auto text_of = [](const auto& leaves, const std::string& key) {
    const auto found = leaves.find(key);
    return found == leaves.end() ? std::string("-") : found->second;
  };
  std::vector<ResumeDifference> differences;
  for (const std::string& key : keys) {
    const std::string a = text_of(now, key), b = text_of(then, key);
    if (a != b) differences.push_back({key, a, b});
  }
  return differences;
}

void report_resume(Runner& runner, const CheckpointMeta& meta, const std::string& path) {
  if (!meta.config.empty()) report_differences(runner.config(), meta.config, path);
  if (meta.num_threads != 0 && meta.num_threads != num_threads()) {
    log_warning(str_cat(path, " was trained with ", meta.num_threads, " threads, this run has ",
                        num_threads(), ": results agree to rounding, not bitwise"));
  }
  if (meta.world_size != 0 && meta.world_size != world().size()) {
    log_warning(str_cat(path, ": trained in ", meta.world_size, " processes, this run has ", world().size(),
                        ": the images of an iteration, and so the results, are others; the iteration number "
                        "is changed from ",
                        meta.iter, " to ", runner.iter()));
  }
  if (meta.seed != runner.seed())
    log_warning(str_cat("seed: config ", runner.seed(), ", checkpoint ", meta.seed, ": using config"));
}

}  // namespace osprey
