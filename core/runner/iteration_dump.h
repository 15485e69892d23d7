#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/runner/forensics.h"

namespace osprey {

// What is known of an iteration beside its tensors: iteration.json of its dump.
struct IterationRecord {
  int64_t iter = 0;  // 0-based; the folder and the log count from 1
  int64_t epoch = 0;
  uint64_t seed = 0;
  DType precision = DType::kF32;  // of the model
  std::vector<std::string> keep_fp32;
  double loss_factor = 1;
  double lr = 0;
  int64_t last_committed = 0;                          // as in Scene
  NonFiniteEvent event;                                // with the loss scale
  std::vector<std::pair<std::string, double>> losses;  // as logged, the total last
  Diagnosis diagnosis;
  std::string device = "cpu";
  int num_threads = 0;
  int num_ranks = 1;  // whose losses were averaged, and whose BN statistics may have been
  bool deterministic = false;
  std::string env_info;
};

// An iteration that can be repeated bit by bit without the data set.
struct IterationDump {
  IterationRecord record;
  ConfigNode config;
  Batch batch;
  StateDict weights;  // f32 masters and buffers, reference layout
};

// About what it takes on the disk.
uint64_t bytes_of(const IterationDump& dump);

// Writes `work_dir`/numerics/iter_N (config.yaml, batch.safetensors, weights.safetensors, iteration.json)
// whole or not at all, over a folder of that name from an earlier run. Returns the folder. Throws UserError
// when the disk has not enough room, or refuses.
std::string write_iteration_dump(const std::string& work_dir, const IterationDump& dump);

// Throws UserError, one line with file and reason, when the folder is no dump, lacks a file, or a file is not
// what was written (sizes and SHA-256 are in iteration.json).
IterationDump read_iteration_dump(const std::string& folder);

}  // namespace osprey
