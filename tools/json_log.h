#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osprey {

// A run's .log.json, as TextLoggerHook writes it and mmcv does: one object a line.
struct LogLine {
  std::string mode;  // "train" or "val"
  int64_t epoch = 0, iter = 0;
  std::map<std::string, double> values;  // the numbers only
};

// Leaves out lines without a mode (the first one describes the environment). Throws UserError, with file and
// line, for what is no such log.
std::vector<LogLine> read_json_log(const std::string& path);

// One curve of a log: a training value over iterations, or a validation value (bbox_mAP, ...) over epochs.
struct Curve {
  std::string label;
  std::vector<double> x, y;
};

// Throws UserError, naming the keys that there are, when the log has no `key`.
Curve curve_of(const std::vector<LogLine>& log, const std::string& key, const std::string& path);

// What is drawn when nobody says: bbox_mAP, as in mmdetection, or the loss of a run that has not been
// evaluated.
std::string default_key(const std::vector<LogLine>& log);

// mmdetection's `cal_train_time` report: the slowest and the fastest epoch, the spread over epochs and the
// mean time of an iteration, in seconds. With `include_outliers` an epoch's first logged value counts, too.
std::string train_time_report(const std::vector<LogLine>& log, const std::string& path,
                              bool include_outliers);

}  // namespace osprey
