#pragma once

#include <gtest/gtest.h>

#include <string>

#include "losses/loss.h"
#include "tests/golden.h"

namespace osprey::testing {

inline std::unique_ptr<Loss> loss_of(const std::string& keys) {
  return build<Loss>(parse_config("{" + keys + "}"));
}

}  // namespace osprey::testing
