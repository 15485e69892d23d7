#pragma once

#include <cstdint>

#include "core/tensor/half.h"

namespace osprey {

// Mean and variance of a channel over several batches, from those of each (Chan, Golub & LeVeque 1983,
// "Algorithms for computing the sample variance", eq. 2.1): no difference of large sums.
template <typename T>
struct MergeStatistics {
  const T* rows;  // (ranks, 2 channels + 1): mean, biased variance, number of rows
  int64_t ranks, channels;
  const T *running_mean, *running_var;
  T *mean, *var, *unbiased, *count;
  OSPREY_HD T at(int64_t rank, int64_t i) const { return rows[rank * (2 * channels + 1) + i]; }
  OSPREY_HD void operator()(int64_t c) const {
    double total = 0, sum = 0, squares = 0;
    for (int64_t r = 0; r < ranks; ++r) {
      const double n = at(r, 2 * channels);
      total += n;
      sum += n * at(r, c);
    }
    const double center = total > 0 ? sum / total : static_cast<double>(running_mean[c]);
    for (int64_t r = 0; r < ranks; ++r) {
      const double n = at(r, 2 * channels), d = at(r, c) - center;
      if (n > 0) squares += n * (at(r, channels + c) + d * d);
    }
    mean[c] = static_cast<T>(center);
    var[c] = total > 0 ? static_cast<T>(squares / total) : running_var[c];
    unbiased[c] = total > 0 ? static_cast<T>(squares / (total > 1 ? total - 1 : 1)) : running_var[c];
    if (c == 0) count[0] = static_cast<T>(total);
  }
};

// The running statistic after a batch: `correction` makes a biased variance unbiased.
template <typename T>
struct UpdateRunning {
  T momentum, correction;
  OSPREY_HD T operator()(T running, T batch) const {
    return (1 - momentum) * running + momentum * (batch * correction);
  }
};

}  // namespace osprey
