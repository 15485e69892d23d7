#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/evaluation/eval_report.h"

namespace CLI {
class App;
}

namespace osprey {

// --eval, --eval-options (and mmdetection's older --options) and --cfg-options of tools that evaluate.
struct EvaluationFlags {
  std::vector<std::string> eval, eval_options, cfg_options;
};
void add_evaluation_flags(CLI::App& app, EvaluationFlags& flags);

// The config with the command line's wishes for the evaluation merged into `evaluation`, and its plugins
// loaded. Throws UserError for an option that no evaluation has.
ConfigNode load_config_to_evaluate(const std::string& config, const EvaluationFlags& flags);

// The table for people, one line of JSON for programs.
void print_report(const EvalReport& report);

}  // namespace osprey
