#pragma once

#include <string>

#include "core/config/config.h"

namespace osprey {

// The block under `key`, or, when it is missing or null, the one that mmdetection's constructor has as
// default argument, given as YAML: find_or(cfg, "bbox_coder", "{type: DeltaXYWHBBoxCoder}").
inline ConfigNode find_or(const ConfigNode& cfg, const std::string& key, const std::string& default_yaml) {
  const ConfigNode found = cfg.find(key);
  return found.is_null() ? parse_config(default_yaml, "default of " + key) : found;
}

}  // namespace osprey
