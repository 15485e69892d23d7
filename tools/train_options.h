#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/device_choice.h"

namespace osprey {

// The command line of tools/train, mmdetection's train.py.
struct TrainOptions : DeviceFlags {
  std::string config;
  std::string work_dir;      // "" : the config's work_dir, else ./work_dirs/<stem of the config>
  std::string resume_from;   // a checkpoint
  bool auto_resume = false;  // from the newest checkpoint of the work dir, when there is one
  bool no_validate = false;
  bool auto_scale_lr = false;  // by the batch size, from optimizer.lr for auto_scale_lr.base_batch_size
  std::optional<uint64_t> seed;
  bool deterministic = false;
  std::vector<std::string> cfg_options;  // "a.b=1"
  bool check = false;                    // build everything, train nothing
};

}  // namespace osprey
