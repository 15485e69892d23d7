#pragma once

#include <string>

namespace osprey::emulator {

// What a GPU would answer with silent corruption ends the process here: prints "cuda emulator: message" and a
// backtrace, and aborts.
[[noreturn]] void fail(const std::string& message);

}  // namespace osprey::emulator
