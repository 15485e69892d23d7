#include "tools/json_log.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"

namespace osprey {
namespace {

LogLine parse_line(const nlohmann::json& object) {
  LogLine line;
  line.mode = object["mode"].get<std::string>();
  line.epoch = object.value("epoch", int64_t{0});
  line.iter = object.value("iter", int64_t{0});
  for (const auto& [key, value] : object.items()) {
    if (value.is_number()) line.values[key] = value.get<double>();
  }
  return line;
}

// Iterations of an epoch: the last that a training line of the log names.
int64_t epoch_length(const std::vector<LogLine>& log) {
  int64_t length = 0;
  for (const LogLine& line : log) {
    if (line.mode == "train") length = std::max(length, line.iter);
  }
  return length;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::map<int64_t, std::vector<double>> times_by_epoch(const std::vector<LogLine>& log,
                                                      bool include_outliers) {
  std::map<int64_t, std::vector<double>> times;
  for (const LogLine& line : log) {
    const auto time = line.values.find("time");
    if (line.mode == "train" && time != line.values.end()) times[line.epoch].push_back(time->second);
  }
  for (auto& [epoch, values] : times) {
    if (!include_outliers && values.size() > 1) values.erase(values.begin());  // it warms up
  }
  return times;
}

template <typename... Args>
std::string format(const char* pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

}  // namespace

std::vector<LogLine> read_json_log(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UserError(path + ": no such file");
  std::vector<LogLine> log;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    const auto object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object())
      throw UserError(str_cat(path, ":", number, ": is no JSON object; give a run's .log.json"));
    if (object.contains("mode") && object["mode"].is_string()) log.push_back(parse_line(object));
  }
  if (log.empty()) throw UserError(path + ": holds no line of a training");
  return log;
}

Curve curve_of(const std::vector<LogLine>& log, const std::string& key, const std::string& path) {
  Curve curve{key, {}, {}};
  std::set<std::string> keys;
  const int64_t length = epoch_length(log);
  for (const LogLine& line : log) {
    for (const auto& [name, value] : line.values) keys.insert(name);
    const auto found = line.values.find(key);
    if (found == line.values.end()) continue;
    const int64_t iters = std::max<int64_t>(line.epoch - 1, 0) * length + line.iter;
    curve.x.push_back(static_cast<double>(line.mode == "val" ? line.epoch : iters));
    curve.y.push_back(found->second);
  }
  if (!curve.x.empty()) return curve;
  const std::vector<std::string> known(keys.begin(), keys.end());
  const std::string near = nearest_match(key, known);
  throw UserError(path + ": has no key '" + key + "'; it has " + join(known) +
                  (near.empty() ? "" : ". Did you mean '" + near + "'?"));
}

std::string default_key(const std::vector<LogLine>& log) {
  for (const LogLine& line : log) {
    if (line.values.count("bbox_mAP")) return "bbox_mAP";
  }
  return "loss";
}

std::string train_time_report(const std::vector<LogLine>& log, const std::string& path,
                              bool include_outliers) {
  const auto times = times_by_epoch(log, include_outliers);
  if (times.empty()) throw UserError(path + ": has no training line with a time");
  std::vector<double> averages, all;
  std::vector<int64_t> epochs;
  for (const auto& [epoch, values] : times) {
    epochs.push_back(epoch);
    averages.push_back(mean(values));
    all.insert(all.end(), values.begin(), values.end());
  }
  const auto slowest = std::max_element(averages.begin(), averages.end());
  const auto fastest = std::min_element(averages.begin(), averages.end());
  std::vector<double> squares;
  for (const double average : averages) squares.push_back(std::pow(average - mean(averages), 2));
  return "-----Analyze train time of " + path + "-----\n" +
         format("slowest epoch %ld, average time is %.4f\n",
                static_cast<long>(epochs[slowest - averages.begin()]), *slowest) +
         format("fastest epoch %ld, average time is %.4f\n",
                static_cast<long>(epochs[fastest - averages.begin()]), *fastest) +
         format("time std over epochs is %.4f\n", std::sqrt(mean(squares))) +
         format("average iter time: %.4f s/iter\n", mean(all));
}

}  // namespace osprey
