#pragma once

#include <cstdint>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

// What samplers need of a device. The host draws places among the candidates of one kind, of which it knows
// the number alone; the device turns places into boxes.
namespace osprey {

// flags u8 (n): 1 where gt_inds i64 (n) is positive, or with `background` where it is 0.
extern DeviceKernel<void(const Tensor& gt_inds, bool background, Tensor& flags)> flag_assigned_kernel;

struct SampleArgs {
  Tensor places;             // i64 (p): chosen places in the list of candidates; undefined: all, in order
  Tensor rows;               // i64: rows of `boxes` that form the list; undefined: places are rows
  int64_t leading = 0;       // so many ground truths come before the list, in the same places
  int64_t added = 0;         // so many stand before `boxes` in the numbering of the results
  Tensor boxes;              // f32 (n, >= 4)
  Tensor gts;                // f32 (k, 4)
  Tensor gt_inds;            // i64 (n), as the assigner gave them
  Tensor labels, gt_labels;  // i64 (n), (k), or undefined
};
struct Samples {
  Tensor inds;                           // i64 (p)
  Tensor bboxes;                         // f32 (p, 4)
  Tensor gt_inds, gt_bboxes, gt_labels;  // i64 (p), f32 (p, 4), i64 (p); undefined where nobody asks
};
// p > 0.
extern DeviceKernel<void(const SampleArgs& args, Samples& samples)> gather_samples_kernel;

}  // namespace osprey
