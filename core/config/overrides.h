#pragma once

#include <string>

#include "core/config/config_value.h"

namespace osprey {

// Reads one "a.b.0.c=value" of --cfg-options into nested maps, ready to be merged. Values follow mmcv's
// DictAction: int, float, true/false in any case, None/null, "a,b" and "[a,b]" and "(a,b)" lists, else a
// string; quotes make a string of anything, and {...} is a YAML flow map. Throws UserError.
ValuePtr parse_override(const std::string& text);

}  // namespace osprey
