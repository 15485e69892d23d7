#pragma once

#include <string>

namespace osprey {

// What a bug report needs to know of the machine and the build, one "name: value" a line: system, processor,
// threads, memory, compiler, libraries, version.
std::string environment_info();

}  // namespace osprey
