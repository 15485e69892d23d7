#include "tools/evaluation_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/plugins/plugins.h"

namespace osprey {
namespace {

const std::vector<std::string> kEvalOptions = {"classwise",    "proposal_nums", "iou_thrs",
                                               "metric_items", "iou_thr",       "jsonfile_prefix"};

void check_option(const std::string& option) {
  const std::string key = option.substr(0, option.find('='));
  if (std::find(kEvalOptions.begin(), kEvalOptions.end(), key) != kEvalOptions.end()) return;
  const std::string meant = nearest_match(key, kEvalOptions);
  throw UserError(str_cat("--eval-options ", option, ": unknown key '", key, "'; allowed: ",
                          join(kEvalOptions), meant.empty() ? "" : str_cat(". Did you mean '", meant, "'?")));
}

}  // namespace

void add_evaluation_flags(CLI::App& app, EvaluationFlags& flags) {
  app.add_option("--eval", flags.eval, "metrics: bbox, segm, proposal, proposal_fast; mAP of VOC");
  app.add_option("--eval-options,--options", flags.eval_options, "KEY=VALUE ...: " + join(kEvalOptions));
  app.add_option("--cfg-options", flags.cfg_options, "KEY=VALUE ...: changes to the config");
}

ConfigNode load_config_to_evaluate(const std::string& config, const EvaluationFlags& flags) {
  std::vector<std::string> overrides = flags.cfg_options;
  for (const std::string& option : flags.eval_options) {
    check_option(option);
    overrides.push_back("evaluation." + option);
  }
  if (!flags.eval.empty()) overrides.push_back(str_cat("evaluation.metric=[", join(flags.eval, ","), "]"));
  return load_plugins(load_config(config, overrides));
}

void print_report(const EvalReport& report) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : report.metrics) json[name] = value;
  for (const auto& [name, text] : report.texts) json[name] = text;
  std::cout << report.table << "\n" << json.dump() << std::endl;
}

}  // namespace osprey
