// Evaluates results that tools/test has written with --out: mmdetection's
// tools/analysis_tools/eval_metric.py.
#include <CLI/CLI.hpp>

#include "core/base/logging.h"
#include "core/data/dataset.h"
#include "hooks/eval_hook.h"
#include "tools/command_line.h"
#include "tools/evaluation_flags.h"
#include "tools/results_file.h"

namespace osprey {
namespace {

struct Arguments {
  std::string config, results;
  EvaluationFlags evaluation;
  bool format_only = false;
};

void run(const Arguments& args) {
  if (args.evaluation.eval.empty() == !args.format_only)
    throw UserError("give exactly one of --eval and --format-only");
  const ConfigNode root = load_config_to_evaluate(args.config, args.evaluation);
  set_log_level(root.get("log_level", "INFO"));
  const EvalOptions options = read_eval_options(root.find("evaluation"));
  const std::unique_ptr<Dataset> dataset = build_test_dataset(root["data"]["test"]);
  if (!args.format_only) dataset->check_options(options);
  require_all_read(root["data"]["test"]);
  const std::vector<DetectionResult> results = read_results(args.results);
  if (static_cast<int64_t>(results.size()) != dataset->size())
    throw UserError(str_cat(args.results, ": holds the results of ", results.size(),
                            " images, data.test has ", dataset->size(), "; they are of another data set"));
  if (args.format_only) {
    dataset->format_results(results, options.jsonfile_prefix.empty() ? "results" : options.jsonfile_prefix);
  } else {
    print_report(dataset->evaluate(results, options));
  }
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Evaluates results that tools/test --out has written.");
  osprey::Arguments args;
  app.add_option("config,--config", args.config, "YAML config file")->required();
  app.add_option("results,--results", args.results, "the .json file of tools/test --out")->required();
  app.add_flag("--format-only", args.format_only, "write COCO json for a test server instead of evaluating");
  osprey::add_evaluation_flags(app, args.evaluation);
  return osprey::run_tool(app, argc, argv, [&] { osprey::run(args); });
}
