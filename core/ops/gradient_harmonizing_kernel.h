#pragma once

#include <cstdint>

#include "core/backend/atomic_add.h"
#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// All on one device. lengths, weights f32 of one shape; edges f32 (bins + 1).
struct HarmonizingArgs {
  Tensor lengths, weights, edges;
  float momentum;
  Tensor acc_sum;         // f32 (bins); undefined without momentum
  Tensor counts;          // i32 (bins), zero: examples in each bin
  Tensor new_acc_sum;     // f32 (bins), with momentum
  Tensor weight_of_bin;   // f32 (bins)
  Tensor weight_of_each;  // f32, the result
};
extern DeviceKernel<void(HarmonizingArgs& args)> harmonizing_kernel;

struct Bins {
  const float* edges;
  int64_t count;

  // The bin that holds `length`, -1 for none (NaN lies nowhere). The first guess is exact but for rounding.
  OSPREY_HD int64_t of(float length) const {
    if (!(length >= edges[0] && length < edges[count])) return -1;
    int64_t bin = static_cast<int64_t>(length * static_cast<float>(count));
    bin = bin < count ? bin : count - 1;
    while (length < edges[bin]) --bin;
    while (length >= edges[bin + 1]) ++bin;
    return bin;
  }
};

// Counts the elements first, first + stride, ...; most neighbours share a bin, so that runs are added at
// once.
struct CountStrip {
  Bins bins;
  const float *lengths, *weights;
  int32_t* counts;
  int64_t size, stride;

  OSPREY_HD void operator()(int64_t first, int64_t, int64_t) const {
    int64_t current = -1;
    int32_t run = 0;
    for (int64_t i = first; i < size; i += stride) {
      const int64_t bin = weights[i] > 0 ? bins.of(lengths[i]) : -1;
      if (bin != current) {
        if (current >= 0) atomic_add(counts + current, run);
        current = bin;
        run = 0;
      }
      ++run;
    }
    if (current >= 0) atomic_add(counts + current, run);
  }
};

// For every bin; acc_sum null without momentum.
struct WeighBin {
  const int32_t* counts;
  int64_t bins;
  float momentum;
  const float* acc_sum;
  float *new_acc_sum, *weight_of_bin;

  OSPREY_HD void operator()(int64_t bin) const {
    int64_t filled = 0;
    for (int64_t b = 0; b < bins; ++b) filled += counts[b] > 0;
    float density = static_cast<float>(counts[bin]);
    if (acc_sum != nullptr) {
      if (counts[bin] > 0) density = momentum * acc_sum[bin] + (1 - momentum) * density;
      new_acc_sum[bin] = counts[bin] > 0 ? density : acc_sum[bin];
    }
    weight_of_bin[bin] = counts[bin] > 0 ? 1 / (density * static_cast<float>(filled)) : 0.0f;
  }
};

struct WeighElement {
  Bins bins;
  const float *lengths, *weights, *weight_of_bin;
  float* out;

  OSPREY_HD void operator()(int64_t i) const {
    const int64_t bin = weights[i] > 0 ? bins.of(lengths[i]) : -1;
    out[i] = bin < 0 ? 0.0f : weight_of_bin[bin];
  }
};

inline Bins bins_of(const HarmonizingArgs& a) { return {a.edges.data<float>(), a.edges.numel() - 1}; }
inline WeighBin weigh_bin(HarmonizingArgs& a) {
  const bool averaged = a.acc_sum.defined();
  return {a.counts.data<int32_t>(),
          a.counts.numel(),
          a.momentum,
          averaged ? a.acc_sum.data<float>() : nullptr,
          averaged ? a.new_acc_sum.mutable_data<float>() : nullptr,
          a.weight_of_bin.mutable_data<float>()};
}
inline WeighElement weigh_element(HarmonizingArgs& a) {
  return {bins_of(a), a.lengths.data<float>(), a.weights.data<float>(), a.weight_of_bin.data<float>(),
          a.weight_of_each.mutable_data<float>()};
}

}  // namespace osprey
