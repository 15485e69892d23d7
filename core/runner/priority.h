#pragma once

#include <string>

#include "core/config/config.h"

namespace osprey {

// mmcv's priorities: lower values run earlier, ties in order of registration. Any integer in [0, 100] is a
// priority too.
enum class Priority : int {
  kHighest = 0,
  kVeryHigh = 10,
  kHigh = 30,
  kAboveNormal = 40,
  kNormal = 50,
  kBelowNormal = 60,
  kLow = 70,
  kVeryLow = 90,
  kLowest = 100,
};

// "ABOVE_NORMAL", or the number when it has no name.
std::string name_of(Priority priority);
// Reads a name ('ABOVE_NORMAL', any case) or an integer.
Priority read_priority(const ConfigNode& node);

}  // namespace osprey
