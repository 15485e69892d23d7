#include "models/dense_heads/best_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace osprey {

Tensor top_rows(const Tensor& scores, int64_t count) {
  std::vector<float> keys = scores.to_vector<float>();
  for (float& key : keys) {
    if (std::isnan(key)) key = -std::numeric_limits<float>::infinity();
  }
  std::vector<int64_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    return keys[a] > keys[b] || (keys[a] == keys[b] && a < b);
  };
  std::nth_element(rows.begin(), rows.begin() + count, rows.end(), before);
  rows.resize(count);
  std::sort(rows.begin(), rows.end(), before);
  return Tensor::from(rows, {count}).to(scores.device());
}

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
