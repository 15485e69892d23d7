#pragma once

#include <cstdint>

#include "core/tensor/device_kernel.h"
#include "core/tensor/half.h"

// TBLRBBoxCoder's arithmetic for one box; numbers in its order: top, bottom, left, right.
namespace osprey {

// What one number of a prior's four is multiplied by: its normalizer, times the prior's height or width.
struct TblrScale {
  float normalizer[4];
  bool by_wh;

  OSPREY_HD float of(const float* prior, int k) const {
    const float side = k < 2 ? prior[3] - prior[1] : prior[2] - prior[0];
    return by_wh ? normalizer[k] * side : normalizer[k];
  }
};

struct EncodeTblr {
  TblrScale scale;
  const float *priors, *gts;  // (n, 4)
  float* out;
  OSPREY_HD void operator()(int64_t i) const {
    const float *p = priors + 4 * i, *gt = gts + 4 * i;
    const float x = (p[0] + p[2]) / 2, y = (p[1] + p[3]) / 2;
    const float tblr[4] = {y - gt[1], gt[3] - y, x - gt[0], gt[2] - x};
    for (int k = 0; k < 4; ++k) out[4 * i + k] = tblr[k] / scale.of(p, k);
  }
};

struct DecodeTblr {
  TblrScale scale;
  float low, right, bottom;  // of the corners
  const float *priors, *tblr;
  float* boxes;

  OSPREY_HD void corners(int64_t i, float* out) const {
    const float *p = priors + 4 * i, *d = tblr + 4 * i;
    const float x = (p[0] + p[2]) / 2, y = (p[1] + p[3]) / 2;
    out[0] = x - d[2] * scale.of(p, 2);
    out[1] = y - d[0] * scale.of(p, 0);
    out[2] = x + d[3] * scale.of(p, 3);
    out[3] = y + d[1] * scale.of(p, 1);
  }
  OSPREY_HD float limit(int corner) const { return corner % 2 == 0 ? right : bottom; }
  OSPREY_HD void operator()(int64_t i) const {
    float corner[4];
    corners(i, corner);
    for (int k = 0; k < 4; ++k) {
      const float x = corner[k];
      boxes[4 * i + k] = x < low ? low : x > limit(k) ? limit(k) : x;
    }
  }
};

struct DecodeTblrGrad {
  DecodeTblr forward;
  const float* grad;  // of the boxes
  float* out;         // of tblr
  OSPREY_HD void operator()(int64_t i) const {
    float corner[4], g[4];
    forward.corners(i, corner);
    for (int k = 0; k < 4; ++k) {  // a clipped corner passes nothing on
      const bool clipped = corner[k] < forward.low || corner[k] > forward.limit(k);
      g[k] = clipped ? 0.0f : grad[4 * i + k];
    }
    const float* p = forward.priors + 4 * i;
    const float slope[4] = {-g[1], g[3], -g[0], g[2]};
    for (int k = 0; k < 4; ++k) out[4 * i + k] = slope[k] * forward.scale.of(p, k);
  }
};

// f(row) for every row; the pointers are memory of `device`.
extern DeviceKernel<void(Device device, int64_t rows, const EncodeTblr& f)> tblr_encode_kernel;
extern DeviceKernel<void(Device device, int64_t rows, const DecodeTblr& f)> tblr_decode_kernel;
extern DeviceKernel<void(Device device, int64_t rows, const DecodeTblrGrad& f)> tblr_decode_grad_kernel;

}  // namespace osprey
