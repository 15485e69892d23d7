#pragma once

#include <cstdint>

#include "core/ops/rows.h"
#include "core/tensor/half.h"

namespace osprey {

struct ReplaceLabel {
  static constexpr char kName[] = "replace_label";
  const int64_t* labels;
  int64_t label;
  const int64_t* replacement;
  int64_t* out;
  OSPREY_HD void operator()(int64_t i) const { out[i] = labels[i] == label ? replacement[i] : labels[i]; }
};

struct GatherInteger {
  static constexpr char kName[] = "gather_integers";
  const int64_t *values, *rows;
  int64_t* out;
  OSPREY_HD void operator()(int64_t i) const { out[i] = values[rows[i]]; }
};

}  // namespace osprey
