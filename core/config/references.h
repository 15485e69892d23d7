#pragma once

#include <set>
#include <string>

#include "core/config/config_value.h"

// `${other.key}`: resolved after all files and overrides are merged, so that overriding `data_root` once
// moves every path made from it. A value that is nothing but a reference becomes a copy of what it names,
// whatever its type; inside a string the text is inserted. `$${` stands for a literal `${`.
namespace osprey {

// Whether the value is a single ${reference}.
bool is_reference(const ConfigValue& value);

// Adds the names of all references below `value`.
void collect_references(const ConfigValue& value, std::set<std::string>& names);

// Resolves everything below `root` in place. Throws UserError for unknown names and cycles.
void resolve_references(const ValuePtr& root);

// A string as it must be written so that resolve_references() leaves it alone.
std::string escape_references(const std::string& text);

}  // namespace osprey
