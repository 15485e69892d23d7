#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/nn/module.h"
#include "core/runner/checkpoint_meta.h"

namespace osprey {

// One training state. On disk it is a single safetensors file: weights under mmdetection's names in f32,
// "optimizer.<parameter>.<key>", "hooks.<hook>.<key>", and the meta data as JSON text in
// __metadata__["meta"]; weights alone are thus readable by any safetensors reader. Under a name in .pth it is
// mmcv's checkpoint, for PyTorch (core/runner/pth_checkpoint.h).
struct Checkpoint {
  CheckpointMeta meta;
  StateDict weights;
  StateDict optimizer;
  std::vector<ParamGroupRecord>
      param_groups;  // of the optimizer; what a .pth file needs to number parameters
  std::map<std::string, StateDict> hooks;
};

// Writes whole or not at all, in the format that the name ends in: .pth, else safetensors.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads a checkpoint in either format, or any file of weights (the rest stays empty then). What a file has
// and a checkpoint cannot hold goes to `notes`, one line each, or to the log without it. Throws UserError
// naming the file.
Checkpoint read_checkpoint(const std::string& path, std::vector<std::string>* notes = nullptr);
// Without reading the tensors.
CheckpointMeta read_checkpoint_meta(const std::string& path);

// The weights of a checkpoint of ours, of any safetensors file, or of a .pth file that PyTorch wrote.
StateDict read_weights(const std::string& path);

// The first tensor of `state` with a non-finite element, or "".
std::string first_nonfinite(const StateDict& state);

// The same for everything that a checkpoint holds.
std::string first_nonfinite(const Checkpoint& checkpoint);

// Makes `dir/link` point to the file `target` beside it. Readers see the old or the new one, never none.
void point_link(const std::string& dir, const std::string& link, const std::string& target);

// The checkpoints of a work directory that its run may continue from, the one with the most iterations first:
// epoch_N, iter_N, and what latest.safetensors or latest.pth points to. A file whose meta data cannot be read
// is left out; the reason goes to `damaged`, when given.
std::vector<std::string> find_checkpoints(const std::string& work_dir,
                                          std::vector<std::string>* damaged = nullptr);

}  // namespace osprey
