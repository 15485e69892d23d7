#include "models/roi_heads/detections.h"

#include <algorithm>
#include <numeric>

#include "core/bbox/transforms.h"

namespace osprey {

Detections Detections::from(const MulticlassNmsResult& nms) {
  const auto labels = nms.labels.to_vector<int64_t>();
  std::vector<int64_t> order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
  const std::vector<float> dets = nms.dets.to_vector<float>();
  std::vector<float> bboxes, scores;
  std::vector<int64_t> sorted_labels;
  for (const int64_t row : order) {
    bboxes.insert(bboxes.end(), &dets[row * 5], &dets[row * 5] + 4);
    scores.push_back(dets[row * 5 + 4]);
    sorted_labels.push_back(labels[row]);
  }
  const int64_t k = static_cast<int64_t>(order.size());
  return {Tensor::from(bboxes, {k, 4}), Tensor::from(scores, {k}), Tensor::from(sorted_labels, {k})};
}

Tensor Detections::in_network_pixels(const ImgMeta& meta, bool rescaled) const {
  if (!rescaled) return bboxes;
  Tensor scaled = bboxes.clone();
  float* xyxy = scaled.mutable_data<float>();
  for (int64_t i = 0; i < scaled.numel(); ++i) xyxy[i] *= meta.scale_factor[i % 4];
  return scaled;
}

DetectionResult to_result(const Detections& detections) {
  DetectionResult result;
  result.bboxes = detections.bboxes;
  result.scores = detections.scores;
  result.labels = detections.labels;
  return result;
}

Tensors split_rows(const Tensor& all, const Tensors& like) {
  Tensors parts;
  int64_t begin = 0;
  for (const Tensor& part : like) {
    parts.push_back(all.slice(begin, begin + part.dim(0)));
    begin += part.dim(0);
  }
  return parts;
}

Tensors without_scores(const Tensors& boxes) {
  Tensors bare;
  for (const Tensor& image : boxes) bare.push_back(first_four(image));
  return bare;
}

}  // namespace osprey
