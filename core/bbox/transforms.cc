#include "core/bbox/transforms.h"

#include <algorithm>

#include "core/bbox/transforms_kernel.h"

namespace osprey {

namespace {

MapBox unchanged() { return {{1, 1, 1, 1}, {1, 1, 1, 1}, false, false, 0, 0, nullptr, nullptr}; }

void set_flip(MapBox& map, std::array<int64_t, 2> img_shape, const std::string& direction) {
  const bool both = direction == "diagonal";
  map.across = both || direction == "horizontal";
  map.down = both || direction == "vertical";
  OSPREY_REQUIRE(map.across || map.down,
                 "bbox_flip: direction must be horizontal, vertical or diagonal, got '", direction, "'");
  map.h = static_cast<float>(img_shape[0]);
  map.w = static_cast<float>(img_shape[1]);
}

Tensor mapped(const Tensor& bboxes, MapBox map) {
  OSPREY_REQUIRE(bboxes.rank() == 2 && bboxes.dim(1) % 4 == 0, "boxes must be (n, 4 * k), got ",
                 to_string(bboxes.shape()));
  const Tensor source = bboxes.to(DType::kF32);
  Tensor result(bboxes.shape(), DType::kF32, bboxes.device());
  map.in = source.data<float>();
  map.out = result.mutable_data<float>();
  for_rows(bboxes.device(), bboxes.numel() / 4, map);
  return result;
}

void require_boxes(const char* op, const Tensor& boxes) {
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) >= 4, op, ": boxes must be (n, 4), got ",
                 to_string(boxes.shape()));
}

}  // namespace

Tensor bbox2roi(const Tensors& bboxes) {
  int64_t count = 0;
  for (const Tensor& boxes : bboxes) count += boxes.dim(0);
  const Device device = bboxes.empty() ? kCPU : bboxes.front().device();
  Tensor rois({count, 5}, DType::kF32, device);
  int64_t begin = 0;
  for (size_t image = 0; image < bboxes.size(); ++image) {
    require_boxes("bbox2roi", bboxes[image]);
    const Tensor boxes = bboxes[image].to(device).to(DType::kF32);
    Tensor part = rois.slice(begin, begin + boxes.dim(0));
    for_rows(device, boxes.dim(0),
             CopyBox{boxes.data<float>(), boxes.dim(1), /*roi=*/true, static_cast<float>(image),
                     part.mutable_data<float>()});
    begin += boxes.dim(0);
  }
  return rois;
}

Tensor first_four(const Tensor& boxes) {
  require_boxes("first_four", boxes);
  const Tensor source = boxes.to(DType::kF32);
  if (boxes.dim(1) == 4) return source;
  Tensor bare({boxes.dim(0), 4}, DType::kF32, boxes.device());
  for_rows(boxes.device(), boxes.dim(0),
           CopyBox{source.data<float>(), boxes.dim(1), /*roi=*/false, 0, bare.mutable_data<float>()});
  return bare;
}

Tensor zero_nonfinite_rows(const Tensor& boxes, Tensor& penalty) {
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dtype() == DType::kF32 && penalty.dtype() == DType::kF32 &&
                     penalty.numel() == 1 && penalty.device() == boxes.device(),
                 "zero_nonfinite_rows: boxes ", describe(boxes), ", penalty ", describe(penalty));
  Tensor clean = Tensor::empty_like(boxes);
  for_rows(boxes.device(), boxes.dim(0),
           ZeroNonfinite{boxes.data<float>(), boxes.dim(1), clean.mutable_data<float>(),
                         penalty.mutable_data<float>()});
  return clean;
}

Tensor map_roi_levels(const Tensor& rois, float finest_scale, size_t num_levels) {
  OSPREY_REQUIRE(rois.rank() == 2 && rois.dim(1) == 5 && rois.dtype() == DType::kF32,
                 "map_roi_levels: rois must be f32 (n, 5), got ", describe(rois));
  Tensor levels({rois.dim(0)}, DType::kI64, rois.device());
  for_rows(rois.device(), rois.dim(0),
           RoILevel{rois.data<float>(), finest_scale, static_cast<float>(num_levels - 1),
                    levels.mutable_data<int64_t>()});
  return levels;
}

Tensor scale_rois(const Tensor& rois, float factor) {
  OSPREY_REQUIRE(rois.rank() == 2 && rois.dim(1) == 5 && rois.dtype() == DType::kF32,
                 "scale_rois: rois must be f32 (n, 5), got ", describe(rois));
  Tensor scaled = Tensor::empty_like(rois);
  for_rows(rois.device(), rois.dim(0), ScaleRoI{rois.data<float>(), factor, scaled.mutable_data<float>()});
  return scaled;
}

Tensor bbox_flip(const Tensor& bboxes, std::array<int64_t, 2> img_shape, const std::string& direction) {
  MapBox map = unchanged();
  set_flip(map, img_shape, direction);
  return mapped(bboxes, map);
}

Tensor bbox_mapping(const Tensor& bboxes, std::array<int64_t, 2> img_shape,
                    const std::array<float, 4>& scale_factor, bool flip, const std::string& flip_direction) {
  MapBox map = unchanged();
  std::copy(scale_factor.begin(), scale_factor.end(), map.multiply);
  if (flip) set_flip(map, img_shape, flip_direction);
  return mapped(bboxes, map);
}

Tensor bbox_mapping_back(const Tensor& bboxes, std::array<int64_t, 2> img_shape,
                         const std::array<float, 4>& scale_factor, bool flip,
                         const std::string& flip_direction) {
  MapBox map = unchanged();
  if (flip) set_flip(map, img_shape, flip_direction);
  std::copy(scale_factor.begin(), scale_factor.end(), map.divide);
  return mapped(bboxes, map);
}

Tensors bbox2result(const Tensor& bboxes, const Tensor& labels, int64_t num_classes) {
  const Tensor source = bboxes.to(kCPU).to(DType::kF32), classes = labels.to(kCPU);
  std::vector<std::vector<float>> rows(num_classes);
  const int64_t columns = source.dim(1);
  for (int64_t i = 0; i < source.dim(0); ++i) {
    const int64_t label = classes.data<int64_t>()[i];
    OSPREY_REQUIRE(label >= 0 && label < num_classes, "bbox2result: label ", label, " is outside [0, ",
                   num_classes, ")");
    const float* row = source.data<float>() + i * columns;
    rows[label].insert(rows[label].end(), row, row + columns);
  }
  Tensors result;
  for (const std::vector<float>& of_class : rows) {
    result.push_back(Tensor::from(of_class, {static_cast<int64_t>(of_class.size()) / columns, columns}));
  }
  return result;
}

}  // namespace osprey
