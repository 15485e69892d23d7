#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/runner/checkpoint.h"

namespace osprey {

class Runner;

// One key whose value differs between the config and the checkpoint that a run continues from.
struct ResumeDifference {
  std::string key;
  std::string config;  // YAML text; "-" when absent
  std::string checkpoint;
};

// Compares what steers training: optimizer, optimizer_config, lr_config, fp16, bf16, runner, batch size.
std::vector<ResumeDifference> resume_differences(const ConfigNode& config,
                                                 const std::string& checkpoint_config);

// Logs the table config / checkpoint / used (what the user edited in the config wins), and warns when the
// resumed run cannot be bitwise the uninterrupted one: other seed or number of threads.
void report_resume(Runner& runner, const CheckpointMeta& meta, const std::string& path);

}  // namespace osprey
