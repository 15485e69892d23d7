#pragma once

#include <string>

#include "core/config/config_value.h"

namespace osprey {

// Applies `edit` to `base`, as mmcv's Config does: maps merge key by key, `_delete_: true` in a map replaces
// what was there, everything else replaces. Beyond mmcv: over a list, a map edits elements in place
// (`_each_: {...}` all of them, `1: {...}` one), and a map replaces null. What is replaced is remembered for
// `print_config --why`. Throws UserError when a map meets a scalar, or an index is past the end.
void merge(ValuePtr& base, const ValuePtr& edit, const std::string& path);

// Removes `_delete_` marks that had nothing to delete; throws UserError for an `_each_` without a list.
void finish_merge(ConfigValue& value);

}  // namespace osprey
