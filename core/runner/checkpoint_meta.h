#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/optim/group_option.h"

namespace osprey {

// What a checkpoint says about its run (mmcv's `meta`).
struct CheckpointMeta {
  int64_t epoch = 0;  // finished epochs
  int64_t iter = 0;   // finished iterations
  uint64_t seed = 0;
  std::string config;  // resolved, as YAML
  std::string exp_name;
  std::vector<std::string> classes;
  std::string version;  // of Osprey
  std::string time;     // local, "Sat Jan 31 22:40:50 2026"
  int num_threads = 0;  // sums on the CPU depend on it: a bitwise resume needs the same
  std::string device = "cpu";
  bool recorded = false;  // the file told epoch and iter; else it holds weights alone
  int world_size = 0;     // ranks that trained together, each with a batch of its own; 0: not told
};

// A parameter group of the optimizer as it was: its hyper-parameters, and its parameters by name, frozen ones
// included. PyTorch numbers parameters in the order of the groups.
struct ParamGroupRecord {
  std::vector<GroupOption> options;
  std::vector<std::string> params;
};

// The meta data as JSON text, and back. `hook_states` is JSON too (numbers and texts for people).
// parse_meta() throws UserError naming `path` for text that is no JSON, values of another type, and counters
// below 0.
std::string meta_text(const CheckpointMeta& meta, const std::vector<ParamGroupRecord>& groups,
                      const std::string& hook_states);
CheckpointMeta parse_meta(const std::string& path, const std::string& text,
                          std::vector<ParamGroupRecord>* groups = nullptr);

// Throws UserError unless the counters are >= 0.
void check_counters(const std::string& path, int64_t epoch, int64_t iter);

}  // namespace osprey
