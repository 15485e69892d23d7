#pragma once

#include <string>
#include <vector>

#include "core/io/pth.h"
#include "core/runner/checkpoint.h"

// A training state as mmcv saves it:
//   {meta: {epoch, iter, CLASSES, config, ..., hook_msgs, fp16}, state_dict: {name: tensor},
//    optimizer: {state: {0: {momentum_buffer}, ...}, param_groups: [{lr, ..., params: [0, ...]}]}}
// What mmcv has no place for, the states of other hooks, stands beside them under `osprey`.
namespace osprey {

PthFile to_pth(const Checkpoint& checkpoint);

// Throws UserError naming `path` for values of another type than mmcv writes. What the file has and a
// checkpoint of ours has no place for, or cannot be understood, is told in `notes` (one line each, when
// given).
Checkpoint from_pth(const PthFile& file, const std::string& path, std::vector<std::string>* notes = nullptr);

// `meta` alone.
CheckpointMeta meta_from_pth(const PthFile& file, const std::string& path);

}  // namespace osprey
