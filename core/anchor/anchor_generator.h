#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/registry/registry.h"
#include "core/tensor/tensor.h"

namespace osprey {

using MapSize = std::array<int64_t, 2>;  // h, w

class AnchorGeneratorBase {
 public:
  virtual ~AnchorGeneratorBase() = default;
  virtual size_t num_levels() const = 0;
  virtual int64_t num_base_anchors(size_t level) const = 0;
  // Per level f32 (h * w * A, 4), row-major over y, x, anchor.
  virtual Tensors grid_anchors(const std::vector<MapSize>& featmap_sizes, Device device = kCPU) const = 0;
  // Per level u8 (h * w * A): whether the cell lies inside pad_shape {h, w}.
  virtual Tensors valid_flags(const std::vector<MapSize>& featmap_sizes, MapSize pad_shape,
                              Device device = kCPU) const = 0;
  virtual const std::vector<std::array<int64_t, 2>>& strides() const = 0;  // w, h per level
};

// mmdetection's AnchorGenerator: strides, ratios, scales | octave_base_scale + scales_per_octave, base_sizes,
// scale_major, centers, center_offset.
class AnchorGenerator final : public AnchorGeneratorBase {
 public:
  explicit AnchorGenerator(const ConfigNode& cfg);
  size_t num_levels() const override { return strides_.size(); }
  int64_t num_base_anchors(size_t level) const override { return base_anchors_[level].dim(0); }
  Tensors grid_anchors(const std::vector<MapSize>& featmap_sizes, Device device = kCPU) const override;
  Tensors valid_flags(const std::vector<MapSize>& featmap_sizes, MapSize pad_shape,
                      Device device = kCPU) const override;
  const std::vector<std::array<int64_t, 2>>& strides() const override { return strides_; }
  const Tensors& base_anchors() const { return base_anchors_; }  // per level f32 (A, 4)

 private:
  std::vector<std::array<int64_t, 2>> strides_;
  Tensors base_anchors_;
};

OSPREY_DECLARE_REGISTRY(AnchorGeneratorBase);

// u8 (n): valid anchors whose corners lie inside [-border, w + border) x [-border, h + border) of img_shape
// {h, w}. All valid ones when allowed_border < 0.
Tensor anchor_inside_flags(const Tensor& anchors, const Tensor& valid_flags, MapSize img_shape,
                           int64_t allowed_border);

}  // namespace osprey
