// Curves and times of training logs: mmdetection's tools/analysis_tools/analyze_logs.py.
#include <CLI/CLI.hpp>
#include <iostream>
#include <opencv2/imgcodecs.hpp>

#include "core/base/error.h"
#include "tools/command_line.h"
#include "tools/json_log.h"
#include "tools/plot_curves.h"

namespace osprey {
namespace {

struct PlotCurve {
  std::vector<std::string> logs, keys, legend;
  std::string out = "curves.png", title;
};

void plot(PlotCurve args) {
  if (args.keys.empty()) args.keys = {default_key(read_json_log(args.logs.at(0)))};
  const size_t count = args.logs.size() * args.keys.size();
  if (!args.legend.empty() && args.legend.size() != count)
    throw UserError(str_cat("--legend: ", count, " curves need ", count, " names, got ", args.legend.size()));
  std::vector<Curve> curves;
  for (const std::string& path : args.logs) {
    const std::vector<LogLine> log = read_json_log(path);
    for (const std::string& key : args.keys) {
      Curve curve = curve_of(log, key, path);
      if (args.logs.size() > 1) curve.label = path + " " + key;
      if (!args.legend.empty()) curve.label = args.legend[curves.size()];
      std::cout << curve.label << ": " << curve.y.size() << " values, first " << curve.y.front() << ", last "
                << curve.y.back() << "\n";
      curves.push_back(std::move(curve));
    }
  }
  bool written = false;
  try {
    written = cv::imwrite(args.out, plot_curves(curves, args.title));
  } catch (const cv::Exception& error) {  // a suffix that names no image format
    throw UserError("--out " + args.out + ": " + error.err);
  }
  if (!written) throw UserError("--out " + args.out + ": cannot be written");
  std::cout << "curves drawn to " << args.out << "\n";
}

struct CalTrainTime {
  std::vector<std::string> logs;
  bool include_outliers = false;
};

void report_times(const CalTrainTime& args) {
  for (const std::string& path : args.logs)
    std::cout << train_time_report(read_json_log(path), path, args.include_outliers) << "\n";
}

}  // namespace
}  // namespace osprey

int main(int argc, char** argv) {
  CLI::App app("Draws curves of training logs, or reports the time of their iterations.");
  app.require_subcommand(1);
  osprey::PlotCurve curves;
  CLI::App* plot = app.add_subcommand("plot_curve", "draws values of .log.json files into an image");
  plot->add_option("json_logs", curves.logs, "a run's .log.json")->required();
  plot->add_option("--keys", curves.keys,
                   "what to draw, e.g. loss_cls loss_bbox (bbox_mAP, or loss before the first evaluation)");
  plot->add_option("--legend", curves.legend, "a name for each curve");
  plot->add_option("--title", curves.title, "above the chart");
  std::string ignored;
  plot->add_option("--backend,--style", ignored, "accepted for mmdetection's sake: matplotlib's");
  plot->add_option("--out", curves.out, "image file")->capture_default_str();
  osprey::CalTrainTime times;
  CLI::App* time = app.add_subcommand("cal_train_time", "reports the time of an iteration, epoch by epoch");
  time->add_option("json_logs", times.logs, "a run's .log.json")->required();
  time->add_flag("--include-outliers", times.include_outliers, "count the first value of every epoch, too");
  return osprey::run_tool(app, argc, argv, [&] {
    if (plot->parsed()) osprey::plot(curves);
    if (time->parsed()) osprey::report_times(times);
  });
}
