#pragma once

#include <cstdint>

#include "core/tensor/device_kernel.h"
#include "core/tensor/half.h"

namespace osprey {

// Keeps NaN.
OSPREY_HD inline float limited(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

struct BoxOfDistances {
  const float *points, *distance;
  float low, right, bottom;  // of the corners
  float* boxes;
  OSPREY_HD void operator()(int64_t i) const {
    const float x = points[2 * i], y = points[2 * i + 1];
    const float* d = distance + 4 * i;
    boxes[4 * i + 0] = limited(x - d[0], low, right);
    boxes[4 * i + 1] = limited(y - d[1], low, bottom);
    boxes[4 * i + 2] = limited(x + d[2], low, right);
    boxes[4 * i + 3] = limited(y + d[3], low, bottom);
  }
};

struct DistancesOfBox {
  const float *points, *boxes;
  float low, high;  // of the distances
  float* distance;
  OSPREY_HD void operator()(int64_t i) const {
    const float x = points[2 * i], y = points[2 * i + 1];
    const float* box = boxes + 4 * i;
    distance[4 * i + 0] = limited(x - box[0], low, high);
    distance[4 * i + 1] = limited(y - box[1], low, high);
    distance[4 * i + 2] = limited(box[2] - x, low, high);
    distance[4 * i + 3] = limited(box[3] - y, low, high);
  }
};

// f(row) for every row; the pointers are memory of `device`.
extern DeviceKernel<void(Device device, int64_t rows, const BoxOfDistances& f)> distance2bbox_kernel;
extern DeviceKernel<void(Device device, int64_t rows, const DistancesOfBox& f)> bbox2distance_kernel;

}  // namespace osprey
