#pragma once

#include <cstdint>

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

// The (box, class) pairs above the threshold of multiclass_nms, on a device. Pair p is box p / classes with
// class p % classes.
namespace osprey {

// flags u8 (n * classes) from scores f32 (n, classes + 1).
extern DeviceKernel<void(const Tensor& scores, float score_thr, Tensor& flags)> flag_candidates_kernel;

struct MulticlassCandidates {
  Tensor boxes;   // f32 (k, 4)
  Tensor scores;  // f32 (k)
  Tensor labels;  // i64 (k)
};
// pairs i64 (k); boxes f32 (n, 4) or (n, classes * 4); factors f32 (n) or undefined.
extern DeviceKernel<void(const Tensor& pairs, const Tensor& boxes, const Tensor& scores,
                         const Tensor& factors, MulticlassCandidates& out)>
    gather_candidates_kernel;

}  // namespace osprey
