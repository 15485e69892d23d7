#include "models/roi_heads/roi_extractors/single_roi_extractor.h"

#include <algorithm>
#include <array>

#include "core/bbox/transforms.h"
#include "core/ops/elementwise.h"

namespace osprey {
namespace {

// One number for a square, or [h, w].
std::array<int64_t, 2> read_size(const ConfigNode& cfg, const std::string& key) {
  if (!cfg[key].is_list()) {
    const auto side = cfg.get<int64_t>(key, positive());
    return {side, side};
  }
  const auto size = cfg.get<std::vector<int64_t>>(key, positive());
  if (size.size() != 2) cfg[key].fail(str_cat(key, " must be one number or [h, w]"));
  return {size[0], size[1]};
}

RoIAlignParams read_roi_layer(const ConfigNode& cfg) {
  cfg.choice("type", "RoIAlign", {"RoIAlign"});
  const auto [h, w] = read_size(cfg, "output_size");
  RoIAlignParams params;
  params.out_h = h;
  params.out_w = w;
  params.sampling_ratio = cfg.get("sampling_ratio", int64_t{0}, at_least(-1));
  params.aligned = cfg.get("aligned", true);
  params.max_pool = cfg.choice("pool_mode", "avg", {"avg", "max"}) == "max";
  return params;
}

// fp16.keep_fp32 may name the layer of one level alone: then all are pooled in f32.
Variables in_one_dtype(Variables feats) {
  const DType first = feats.front().dtype();
  if (std::all_of(feats.begin(), feats.end(), [&](const Variable& f) { return f.dtype() == first; }))
    return feats;
  for (Variable& feat : feats) feat = cast(feat, DType::kF32);
  return feats;
}

}  // namespace

SingleRoIExtractor::SingleRoIExtractor(const ConfigNode& cfg)
    : out_channels_(cfg.get<int64_t>("out_channels", positive())),
      finest_scale_(cfg.get("finest_scale", 56.0f, positive())) {
  const RoIAlignParams layer = read_roi_layer(cfg["roi_layer"]);
  for (const int64_t stride : cfg.get<std::vector<int64_t>>("featmap_strides", positive())) {
    roi_layers_.push_back(layer);
    roi_layers_.back().spatial_scale = 1.0 / static_cast<double>(stride);
  }
  if (roi_layers_.empty()) cfg["featmap_strides"].fail("featmap_strides needs one stride at least");
}

Variable SingleRoIExtractor::forward(const Variables& feats, const Tensor& rois) const {
  OSPREY_REQUIRE(feats.size() >= num_inputs(), path(), ": featmap_strides names ", num_inputs(),
                 " levels, there are ", feats.size());
  OSPREY_REQUIRE(feats[0].dim(3) == out_channels_, path(), ": out_channels is ", out_channels_,
                 ", the maps have ", feats[0].dim(3));
  const ModuleScope scope(path());
  const Variables used = in_one_dtype({feats.begin(), feats.begin() + static_cast<int64_t>(num_inputs())});
  const Tensor there = rois.to(feats[0].device());
  return roi_align_levels(used, there, map_roi_levels(there), roi_layers_);
}

Tensor SingleRoIExtractor::map_roi_levels(const Tensor& rois) const {
  return osprey::map_roi_levels(rois, finest_scale_, num_inputs());
}

OSPREY_REGISTER(RoIExtractor, SingleRoIExtractor);

}  // namespace osprey
