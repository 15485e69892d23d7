#include "core/anchor/anchor_generator.h"

#include <algorithm>
#include <cmath>

#include "core/anchor/anchor_kernel.h"

namespace osprey {

OSPREY_DEFINE_REGISTRY(AnchorGeneratorBase, "anchor generator");

namespace {

// `strides` holds numbers or pairs (w, h).
std::vector<std::array<int64_t, 2>> read_strides(const ConfigNode& cfg) {
  std::vector<std::array<int64_t, 2>> strides;
  for (const ConfigNode& item : cfg["strides"].items()) {
    const auto pair =
        item.is_list() ? item.as<std::vector<int64_t>>() : std::vector<int64_t>(2, item.as<int64_t>());
    if (pair.size() != 2 || pair[0] <= 0 || pair[1] <= 0)
      item.fail("must be a positive number or a pair (w, h)");
    strides.push_back({pair[0], pair[1]});
  }
  if (strides.empty()) cfg["strides"].fail("must name one level at least");
  return strides;
}

// `scales`, or octave_base_scale * 2^(i / scales_per_octave) (Lin et al., RetinaNet, section 4).
std::vector<float> read_scales(const ConfigNode& cfg) {
  const bool octaves = !cfg.find("octave_base_scale").is_null() && !cfg.find("scales_per_octave").is_null();
  const bool plain = !cfg.find("scales").is_null();
  if (octaves == plain) cfg.fail("needs either scales, or octave_base_scale and scales_per_octave");
  std::vector<float> scales;
  if (plain) {
    for (const double scale : cfg.get<std::vector<double>>("scales", positive()))
      scales.push_back(static_cast<float>(scale));
    return scales;
  }
  const double base = cfg.get<double>("octave_base_scale", positive());
  const auto count = cfg.get<int64_t>("scales_per_octave", positive());
  for (int64_t i = 0; i < count; ++i) {
    const double octave = std::pow(2.0, static_cast<double>(i) / static_cast<double>(count));
    scales.push_back(static_cast<float>(octave * base));
  }
  return scales;
}

std::vector<double> read_base_sizes(const ConfigNode& cfg,
                                    const std::vector<std::array<int64_t, 2>>& strides) {
  std::vector<double> sizes;
  for (const auto& [w, h] : strides) sizes.push_back(static_cast<double>(std::min(w, h)));
  sizes = cfg.get("base_sizes", sizes, positive());
  if (sizes.size() != strides.size()) cfg["base_sizes"].fail("must have one entry per stride");
  return sizes;
}

// Centres of the base anchors per level; center_offset is in units of the base size.
std::vector<std::array<float, 2>> read_centers(const ConfigNode& cfg, const std::vector<double>& base_sizes) {
  const double offset = cfg.get("center_offset", 0.0, between(0, 1));
  std::vector<std::array<float, 2>> centers;
  const ConfigNode given = cfg.find("centers");
  if (given.is_null()) {
    for (const double size : base_sizes) {
      const float center = static_cast<float>(offset * size);
      centers.push_back({center, center});
    }
    return centers;
  }
  if (offset != 0) given.fail("cannot be combined with center_offset");
  for (const auto& pair : given.as<std::vector<std::vector<double>>>()) {
    if (pair.size() != 2) given.fail("must hold pairs (x, y)");
    centers.push_back({static_cast<float>(pair[0]), static_cast<float>(pair[1])});
  }
  if (centers.size() != base_sizes.size()) given.fail("must have one entry per stride");
  return centers;
}

// The anchors of the cell at the origin, f32 (ratios * scales, 4): same area for every ratio = h / w.
Tensor base_anchors_of(float size, std::array<float, 2> center, const std::vector<float>& ratios,
                       const std::vector<float>& scales, bool scale_major) {
  std::vector<float> anchors;
  const auto add = [&](float w, float h) {
    for (const float edge :
         {center[0] - 0.5f * w, center[1] - 0.5f * h, center[0] + 0.5f * w, center[1] + 0.5f * h}) {
      anchors.push_back(edge);
    }
  };
  const size_t outer = scale_major ? ratios.size() : scales.size();
  const size_t inner = scale_major ? scales.size() : ratios.size();
  for (size_t i = 0; i < outer; ++i) {
    for (size_t j = 0; j < inner; ++j) {
      const float scale = scales[scale_major ? j : i], h_ratio = std::sqrt(ratios[scale_major ? i : j]);
      const float w_ratio = 1 / h_ratio;
      // The order of the products is the reference's: rounding decides ties between overlaps.
      if (scale_major) {
        add(size * w_ratio * scale, size * h_ratio * scale);
      } else {
        add(size * scale * w_ratio, size * scale * h_ratio);
      }
    }
  }
  return Tensor::from(anchors, {static_cast<int64_t>(anchors.size() / 4), 4});
}

Tensor grid_of(const Tensor& base_anchors, MapSize map, std::array<int64_t, 2> stride, Device device) {
  const auto [h, w] = map;
  const int64_t count = base_anchors.dim(0);
  const Tensor base = base_anchors.to(device);
  Tensor grid({h * w * count, 4}, DType::kF32, device);
  for_rows(device, h * w,
           CellAnchors{base.data<float>(), count, w, stride[0], stride[1], grid.mutable_data<float>()});
  return grid;
}

Tensor valid_cells(int64_t anchors, MapSize map, MapSize pad_shape, std::array<int64_t, 2> stride,
                   Device device) {
  const auto [h, w] = map;
  const int64_t valid_h = std::min((pad_shape[0] + stride[1] - 1) / stride[1], h);
  const int64_t valid_w = std::min((pad_shape[1] + stride[0] - 1) / stride[0], w);
  Tensor flags({h * w * anchors}, DType::kU8, device);
  for_rows(device, h * w, CellValid{anchors, w, valid_w, valid_h, flags.mutable_data<uint8_t>()});
  return flags;
}

void require_levels(const std::vector<MapSize>& maps, size_t levels) {
  OSPREY_REQUIRE(maps.size() == levels, "AnchorGenerator: built for ", levels, " levels (strides), got ",
                 maps.size(), " feature maps");
}

}  // namespace

AnchorGenerator::AnchorGenerator(const ConfigNode& cfg) : strides_(read_strides(cfg)) {
  std::vector<float> ratios;
  for (const double ratio : cfg.get<std::vector<double>>("ratios", positive()))
    ratios.push_back(static_cast<float>(ratio));
  const std::vector<float> scales = read_scales(cfg);
  const bool scale_major = cfg.get("scale_major", true);
  const std::vector<double> base_sizes = read_base_sizes(cfg, strides_);
  const auto centers = read_centers(cfg, base_sizes);
  for (size_t level = 0; level < strides_.size(); ++level) {
    const float size = static_cast<float>(base_sizes[level]);
    base_anchors_.push_back(base_anchors_of(size, centers[level], ratios, scales, scale_major));
  }
}

Tensors AnchorGenerator::grid_anchors(const std::vector<MapSize>& featmap_sizes, Device device) const {
  require_levels(featmap_sizes, num_levels());
  Tensors grids;
  for (size_t level = 0; level < num_levels(); ++level) {
    grids.push_back(grid_of(base_anchors_[level], featmap_sizes[level], strides_[level], device));
  }
  return grids;
}

Tensors AnchorGenerator::valid_flags(const std::vector<MapSize>& featmap_sizes, MapSize pad_shape,
                                     Device device) const {
  require_levels(featmap_sizes, num_levels());
  Tensors flags;
  for (size_t level = 0; level < num_levels(); ++level) {
    flags.push_back(
        valid_cells(num_base_anchors(level), featmap_sizes[level], pad_shape, strides_[level], device));
  }
  return flags;
}

Tensor anchor_inside_flags(const Tensor& anchors, const Tensor& valid_flags, MapSize img_shape,
                           int64_t allowed_border) {
  OSPREY_REQUIRE(anchors.rank() == 2 && anchors.dim(1) == 4 && valid_flags.numel() == anchors.dim(0),
                 "anchor_inside_flags: anchors ", to_string(anchors.shape()), " with ", valid_flags.numel(),
                 " flags");
  if (allowed_border < 0) return valid_flags;
  const float low = static_cast<float>(-allowed_border);
  const float right = static_cast<float>(img_shape[1] + allowed_border);
  const float bottom = static_cast<float>(img_shape[0] + allowed_border);
  Tensor flags({anchors.dim(0)}, DType::kU8, anchors.device());
  for_rows(anchors.device(), anchors.dim(0),
           AnchorInside{anchors.data<float>(), valid_flags.data<uint8_t>(), low, right, bottom,
                        flags.mutable_data<uint8_t>()});
  return flags;
}

OSPREY_REGISTER(AnchorGeneratorBase, AnchorGenerator);

}  // namespace osprey
