#include "models/finite_boxes.h"

#include <cmath>
#include <limits>

#include "core/base/logging.h"
#include "core/bbox/transforms.h"
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

namespace {

FiniteBoxes keep_finite_on_device(const Tensors& boxes) {
  FiniteBoxes result;
  result.penalty = Tensor::zeros({}, DType::kF32, boxes.front().device());
  for (const Tensor& all : boxes) result.boxes.push_back(zero_nonfinite_rows(all, result.penalty));
  return result;
}

FiniteBoxes remove_nonfinite(const Tensors& boxes) {
  FiniteBoxes result;
  for (const Tensor& all : boxes) {
    const std::vector<int64_t> rows = finite_rows(all);
    const int64_t kept = static_cast<int64_t>(rows.size());
    if (kept == all.dim(0)) {
      result.boxes.push_back(all);
      continue;
    }
    result.penalty = Tensor::full({}, std::numeric_limits<double>::quiet_NaN(), DType::kF32);
    result.boxes.push_back(gather_rows(all, Tensor::from(rows, {kept}).to(all.device())).value());
  }
  return result;
}

}  // namespace

FiniteBoxes keep_finite(const Tensors& boxes) {
  const bool on_device = !boxes.empty() && boxes.front().device().is_cuda();
  return on_device ? keep_finite_on_device(boxes) : remove_nonfinite(boxes);
}

Tensors keep_finite_or_warn(const Tensors& boxes, const std::string& maker) {
  const FiniteBoxes finite = remove_nonfinite(boxes);
  if (finite.penalty.defined()) {
    log_warning(maker + " gave non-finite boxes; they were left out of the result");
  }
  return finite.boxes;
}

LossDict fail_unless_finite(const FiniteBoxes& boxes, const LossDict& losses, const std::string& name) {
  if (!boxes.penalty.defined()) return losses;
  LossDict failed;
  for (const auto& [key, value] : losses.entries()) {
    failed.add(key,
               key == name ? value + Variable(boxes.penalty.to(value.device()).to(value.dtype())) : value);
  }
  return failed;
}

}  // namespace osprey
