#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/nn/module.h"

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
};

// One training state. On disk it is a single safetensors file: weights under mmdetection's names in f32,
// "optimizer.<parameter>.<key>", "hooks.<hook>.<key>", and the meta data as JSON text in
// __metadata__["meta"]; weights alone are thus readable by any safetensors reader.
struct Checkpoint {
  CheckpointMeta meta;
  StateDict weights;
  StateDict optimizer;
  std::map<std::string, StateDict> hooks;
};

// Writes whole or not at all.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads a checkpoint, or any safetensors file of weights (the rest stays empty then). Throws UserError naming
// the file.
Checkpoint read_checkpoint(const std::string& path);
// Without reading the tensors.
CheckpointMeta read_checkpoint_meta(const std::string& path);

// The weights of a checkpoint of ours, of any safetensors file, or of a .pth file that PyTorch wrote.
StateDict read_weights(const std::string& path);

// The first tensor of `state` with a non-finite element, or "".
std::string first_nonfinite(const StateDict& state);

// The same for everything that a checkpoint holds.
std::string first_nonfinite(const Checkpoint& checkpoint);

// Copies a checkpoint's weights into a model and logs what did not match, as mmcv does: training may go on
// from a checkpoint with other classes. Throws UserError when nothing matched at all.
void load_weights(Module& model, const StateDict& weights, const std::string& path);

// Makes `dir/link` point to the file `target` beside it. Readers see the old or the new one, never none.
void point_link(const std::string& dir, const std::string& link, const std::string& target);

// The newest checkpoint of a work directory: its `latest.safetensors`, else the epoch_N or iter_N file with
// the most iterations; "" when there is none.
std::string find_latest_checkpoint(const std::string& work_dir);

}  // namespace osprey
