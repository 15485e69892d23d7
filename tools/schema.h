#pragma once

#include <iosfwd>
#include <string>

namespace osprey {

// The registered types by kind (loss, hook, backbone, ...), one line each with the file that holds it.
void print_types(std::ostream& out);

// One type: its class comment from the sources below `root` and, from building one, the keys that it reads,
// what each may be and its default. It is built from the first config below `root`/configs that uses it, else
// from placeholders; a constructor that gives up on the way has told a part of its keys, which is said.
// Throws UserError for an unknown type.
void print_schema(const std::string& type, const std::string& root, std::ostream& out);

}  // namespace osprey
