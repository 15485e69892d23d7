#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "tools/json_log.h"

namespace osprey {

// What a work dir tells about its latest run.
struct RunFolder {
  std::string path;
  ConfigNode config;
  std::vector<std::pair<std::string, std::string>> facts;  // environment, device, precision, seed
  std::vector<LogLine> log;
};

// Reads the newest .log.json of the folder and the config beside it. Throws UserError naming what is missing.
RunFolder read_run(const std::string& work_dir);

// Each difference as a line of two values, "" when there is none:
// every value of the config with the file and line that each run has it from,
std::string config_differences(const RunFolder& a, const RunFolder& b);
// machine, libraries, device, precision, seed,
std::string fact_differences(const RunFolder& a, const RunFolder& b);
// and the first logged iteration at which a value differs; times and memory do not count.
std::string first_log_difference(const RunFolder& a, const RunFolder& b);

}  // namespace osprey
