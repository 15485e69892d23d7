#include "hooks/default_hooks.h"

#include "hooks/lr_updater_hook.h"

namespace osprey {
namespace {

ConfigNode or_empty(const ConfigNode& node, const std::string& name) {
  return node.is_null() ? parse_config("{}", name) : node;
}

// A default that an explicit key overrides.
ConfigNode with_default(const ConfigNode& cfg, const std::string& key, bool value) {
  return cfg.has(key) ? cfg : cfg.with(key, value);
}

ConfigNode with_default(const ConfigNode& cfg, const std::string& key, int64_t value) {
  return cfg.has(key) ? cfg : cfg.with(key, value);
}

// All keys of `extra` on top of `cfg`; a key that both have is an error.
ConfigNode merged(ConfigNode cfg, const ConfigNode& extra) {
  for (const std::string& key : extra.keys()) {
    if (cfg.has(key)) extra[key].fail("optimizer_config sets " + key + " too; set it in one place");
    cfg = cfg.with(key, extra.at_path(key));  // unread until the hook reads it
  }
  return cfg;
}

// A schedule: `{policy: step, ...}` is the hook StepLrUpdaterHook, or whatever `suffix` says.
void register_schedule(Runner& runner, const ConfigNode& schedule, const std::string& suffix, bool by_epoch) {
  if (schedule.is_null()) return;
  ConfigNode cfg = schedule;
  if (!schedule.has("type")) {
    const std::string policy = schedule.get<std::string>("policy");
    const std::string type = lr_updater_type(policy, suffix);
    if (!Registry<Hook>::instance().has(type)) {
      std::vector<std::string> policies;
      for (const std::string& name : Registry<Hook>::instance().names()) {
        if (ends_with(name, suffix)) policies.push_back(name.substr(0, name.size() - suffix.size()));
      }
      const std::string near = nearest_match(policy, policies);
      schedule["policy"].fail("unknown policy '" + policy + "'; there are: " + join(policies) +
                              (near.empty() ? "" : ". Did you mean '" + near + "'?"));
    }
    cfg = schedule.without("policy").with("type", type);
  }
  // Otherwise the policy's own default holds: a cycle is counted in iterations under either runner.
  runner.register_hook(build<Hook>(by_epoch ? cfg : with_default(cfg, "by_epoch", false)));
}

void register_loggers(Runner& runner, const ConfigNode& config, bool by_epoch) {
  const ConfigNode log = config.find("log_config");
  if (log.is_null()) return;
  const int64_t interval = log.get("interval", int64_t{10}, positive());
  const ConfigNode hooks = log.find("hooks");
  if (hooks.is_null()) return;
  for (const ConfigNode& item : hooks.items())
    runner.register_hook(
        build<Hook>(with_default(with_default(item, "interval", interval), "by_epoch", by_epoch)),
        Priority::kVeryLow);
}

}  // namespace

ConfigNode optimizer_hook_config(const ConfigNode& config) {
  ConfigNode cfg = or_empty(config.find("optimizer_config"), "optimizer_config");
  const ConfigNode fp16 = config.find("fp16"), bf16 = config.find("bf16");
  if (!fp16.is_null() && !bf16.is_null()) bf16.fail("fp16 and bf16 exclude each other");
  const bool accumulates = cfg.has("cumulative_iters");
  std::string type = cfg.get("type", accumulates ? "GradientCumulativeOptimizerHook" : "OptimizerHook");
  cfg = cfg.without("type");
  for (const auto& [block, dtype] : {std::pair{fp16, "f16"}, {bf16, "bf16"}}) {
    if (block.is_null()) continue;
    if (!block.is_map()) block.fail("must be a dict, e.g. fp16: {loss_scale: 512.}");
    cfg = merged(cfg, block).with("dtype", std::string(dtype));
    if (type == "OptimizerHook") type = "Fp16OptimizerHook";
    if (type == "GradientCumulativeOptimizerHook") type = "GradientCumulativeFp16OptimizerHook";
  }
  return cfg.with("type", type);
}

void register_training_hooks(Runner& runner, const ConfigNode& config) {
  const bool by_epoch = runner.max_epochs() > 0;
  register_schedule(runner, config.find("lr_config"), "LrUpdaterHook", by_epoch);
  register_schedule(runner, config.find("momentum_config"), "MomentumUpdaterHook", by_epoch);
  runner.register_hook(build<Hook>(optimizer_hook_config(config)));
  const ConfigNode checkpoint = config.find("checkpoint_config");
  if (!checkpoint.is_null()) {
    const ConfigNode cfg = checkpoint.with("type", std::string("CheckpointHook"));
    runner.register_hook(build<Hook>(with_default(cfg, "by_epoch", by_epoch)));
  }
  runner.register_hook(build<Hook>(parse_config("{type: IterTimerHook}")));
  register_loggers(runner, config, by_epoch);
}

void register_custom_hooks(Runner& runner, const ConfigNode& config) {
  const ConfigNode custom = config.find("custom_hooks");
  if (custom.is_null()) return;
  for (const ConfigNode& item : custom.items()) {
    std::optional<Priority> priority;
    if (item.has("priority")) priority = read_priority(item["priority"]);
    runner.register_hook(build<Hook>(item.without("priority")), priority);
  }
}

}  // namespace osprey
