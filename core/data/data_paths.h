#pragma once

#include <string>

#include "core/config/config.h"

// Where the files of a dataset are.
namespace osprey {

// Relative paths are below data_root.
std::string below_data_root(const ConfigNode& cfg, const std::string& path);

// The file that `ann_file` names. Throws UserError, with the override that would move it, when there is none.
std::string find_ann_file(const ConfigNode& cfg);

// "; put the data set there, or say where it is: --cfg-options ...": the override that moves a path,
// data_root where the path is made from it, else the path's own key.
std::string where_data_is(const ConfigNode& cfg, const char* key);

}  // namespace osprey
