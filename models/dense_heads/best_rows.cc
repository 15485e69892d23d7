#include "models/dense_heads/best_rows.h"

#include <vector>

namespace osprey {

Tensor rows_of_min_size(const Tensor& boxes, double min_size) {
  const std::vector<float> xyxy = boxes.to_vector<float>();
  const float least = static_cast<float>(min_size);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < boxes.dim(0); ++i) {
    const float* box = &xyxy[i * 4];
    if (box[2] - box[0] >= least && box[3] - box[1] >= least) rows.push_back(i);
  }
  return Tensor::from(rows, {static_cast<int64_t>(rows.size())}).to(boxes.device());
}

}  // namespace osprey
