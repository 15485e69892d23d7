#include "core/bbox/transforms.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace osprey {

namespace {

// A copy with `change(x1, y1, x2, y2)` applied to every box.
Tensor changed(const Tensor& bboxes, const std::function<void(float&, float&, float&, float&)>& change) {
  OSPREY_REQUIRE(bboxes.rank() == 2 && bboxes.dim(1) % 4 == 0, "boxes must be (n, 4 * k), got ",
                 to_string(bboxes.shape()));
  Tensor result = bboxes.to(kCPU).to(DType::kF32).clone();
  float* box = result.mutable_data<float>();
  for (int64_t i = 0; i < result.numel(); i += 4) change(box[i], box[i + 1], box[i + 2], box[i + 3]);
  return result;
}

}  // namespace

Tensor bbox2roi(const Tensors& bboxes) {
  int64_t count = 0;
  for (const Tensor& boxes : bboxes) count += boxes.dim(0);
  Tensor rois({count, 5}, DType::kF32);
  float* out = rois.mutable_data<float>();
  for (size_t image = 0; image < bboxes.size(); ++image) {
    const Tensor boxes = bboxes[image].to(kCPU).to(DType::kF32);
    OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) >= 4, "bbox2roi: boxes must be (n, 4), got ",
                   to_string(boxes.shape()));
    for (int64_t i = 0; i < boxes.dim(0); ++i) {
      *out++ = static_cast<float>(image);
      out = std::copy_n(boxes.data<float>() + i * boxes.dim(1), 4, out);
    }
  }
  return rois;
}

Tensor bbox_flip(const Tensor& bboxes, std::array<int64_t, 2> img_shape, const std::string& direction) {
  const bool both = direction == "diagonal";
  const bool across = both || direction == "horizontal", down = both || direction == "vertical";
  OSPREY_REQUIRE(across || down, "bbox_flip: direction must be horizontal, vertical or diagonal, got '",
                 direction, "'");
  const float h = static_cast<float>(img_shape[0]), w = static_cast<float>(img_shape[1]);
  return changed(bboxes, [=](float& x1, float& y1, float& x2, float& y2) {
    if (across) std::tie(x1, x2) = std::pair(w - x2, w - x1);
    if (down) std::tie(y1, y2) = std::pair(h - y2, h - y1);
  });
}

Tensor bbox_mapping(const Tensor& bboxes, std::array<int64_t, 2> img_shape,
                    const std::array<float, 4>& scale_factor, bool flip, const std::string& flip_direction) {
  const Tensor scaled = changed(bboxes, [&](float& x1, float& y1, float& x2, float& y2) {
    x1 *= scale_factor[0];
    y1 *= scale_factor[1];
    x2 *= scale_factor[2];
    y2 *= scale_factor[3];
  });
  return flip ? bbox_flip(scaled, img_shape, flip_direction) : scaled;
}

Tensor bbox_mapping_back(const Tensor& bboxes, std::array<int64_t, 2> img_shape,
                         const std::array<float, 4>& scale_factor, bool flip,
                         const std::string& flip_direction) {
  const Tensor upright = flip ? bbox_flip(bboxes, img_shape, flip_direction) : bboxes;
  return changed(upright, [&](float& x1, float& y1, float& x2, float& y2) {
    x1 /= scale_factor[0];
    y1 /= scale_factor[1];
    x2 /= scale_factor[2];
    y2 /= scale_factor[3];
  });
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
