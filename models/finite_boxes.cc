#include "models/finite_boxes.h"

#include <cmath>
#include <limits>

#include "core/base/logging.h"
#include "core/ops/elementwise.h"
#include "core/ops/shape_ops.h"

namespace osprey {

std::vector<int64_t> finite_rows(const Tensor& boxes) {
  const std::vector<float> values = boxes.to_vector<float>();
  const int64_t columns = boxes.dim(1);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < boxes.dim(0); ++i) {
    bool finite = true;
    for (int64_t j = 0; j < columns; ++j) finite = finite && std::isfinite(values[i * columns + j]);
    if (finite) rows.push_back(i);
  }
  return rows;
}

FiniteBoxes keep_finite(const Tensors& boxes) {
  FiniteBoxes result;
  for (const Tensor& all : boxes) {
    const std::vector<int64_t> rows = finite_rows(all);
    const int64_t kept = static_cast<int64_t>(rows.size());
    if (kept == all.dim(0)) {
      result.boxes.push_back(all);
      continue;
    }
    result.complete = false;
    result.boxes.push_back(gather_rows(all, Tensor::from(rows, {kept}).to(all.device())).value());
  }
  return result;
}

Tensors keep_finite_or_warn(const Tensors& boxes, const std::string& maker) {
  FiniteBoxes finite = keep_finite(boxes);
  if (!finite.complete) log_warning(maker + " gave non-finite boxes; they were left out of the result");
  return finite.boxes;
}

LossDict fail_unless(bool complete, const LossDict& losses, const std::string& name) {
  if (complete) return losses;
  LossDict failed;
  for (const auto& [key, value] : losses.entries()) {
    failed.add(key, key == name ? value + std::numeric_limits<double>::quiet_NaN() : value);
  }
  return failed;
}

}  // namespace osprey
