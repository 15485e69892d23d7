#pragma once

#include <string>

#include "core/tensor/device.h"

namespace osprey {

// Where a tool computes. `requested`: "" is the best there is, with one info line; "cpu"; "cuda" is an error
// when it cannot be had. Throws UserError.
Device choose_device(const std::string& requested);

}  // namespace osprey
