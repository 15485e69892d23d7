#pragma once

#include <string>

#include "core/config/config_value.h"

namespace osprey {

// Parses one YAML document whose root is a map (an empty one for an empty text); `name` stands in for the
// file in origins and messages. Merge keys (`<<`) are applied, aliases are copies, duplicate keys are
// refused;
// `_base_`, `_delete_`, `_each_` and `${}` are still there. Throws UserError.
ValuePtr parse_yaml(const std::string& text, const std::string& name);

// Parses a value given on a command line in YAML's flow notation; every part of it has this origin.
ValuePtr parse_yaml_value(const std::string& text, const ConfigOrigin& origin, const std::string& path);

}  // namespace osprey
