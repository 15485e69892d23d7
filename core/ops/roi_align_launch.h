#pragma once

#include "core/ops/roi_align.h"
#include "core/ops/roi_align_kernel.h"
#include "core/tensor/device_kernel.h"

namespace osprey {

// Tensors of one call, all on one device.
struct RoIAlignArgs {
  Tensors maps;  // forward: features (n, h, w, c), one dtype; backward: their gradients, zeroed, f32 or f64
  Tensor rois, level;  // f32 (k, 5), i64 (k) or undefined
  std::vector<RoIAlignParams> params;
  Tensor pooled;  // (k, out_h, out_w, c): forward writes it, backward reads its gradient
  Tensor argmax;  // i32, like pooled: forward writes it, backward reads it; only with max_pool
};

extern DeviceKernel<void(RoIAlignArgs& args)> roi_align_kernel;
extern DeviceKernel<void(RoIAlignArgs& args)> roi_align_grad_kernel;

inline RoIGrid make_grid(const RoIAlignArgs& args) {
  RoIGrid grid{};
  grid.num_levels = static_cast<int>(args.maps.size());
  for (size_t l = 0; l < args.maps.size(); ++l) {
    const Tensor& map = args.maps[l];
    const RoIAlignParams& p = args.params[l];
    // Forward only reads through this pointer; asking for it as mutable would outdate packed copies of a
    // leaf.
    void* data = const_cast<void*>(map.raw());
    grid.levels[l] = {data, map.dim(0), map.dim(1), map.dim(2), p.spatial_scale, p.sampling_ratio, p.aligned};
  }
  grid.rois = args.rois.data<float>();
  grid.roi_level = args.level.defined() ? args.level.data<int64_t>() : nullptr;
  grid.channels = args.pooled.dim(3);
  grid.out_h = args.pooled.dim(1);
  grid.out_w = args.pooled.dim(2);
  return grid;
}

inline int64_t bins_of(const RoIAlignArgs& args) {
  return args.pooled.dim(0) * args.pooled.dim(1) * args.pooled.dim(2);
}

}  // namespace osprey
