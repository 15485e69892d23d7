#pragma once

#include "core/tensor/half.h"

namespace osprey {

// The running statistic after a batch: `correction` makes a biased variance unbiased.
template <typename T>
struct UpdateRunning {
  T momentum, correction;
  OSPREY_HD T operator()(T running, T batch) const {
    return (1 - momentum) * running + momentum * (batch * correction);
  }
};

}  // namespace osprey
