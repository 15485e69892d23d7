#include "losses/accuracy.h"

#include <cmath>

namespace osprey {

namespace {

// Whether fewer than topk scores come before that of `label`.
bool hit(const float* score, int64_t classes, int64_t label, int64_t topk) {
  if (label < 0 || label >= classes) return false;
  int64_t ahead = 0;
  for (int64_t c = 0; c < classes; ++c) {
    if (std::isnan(score[c])) return false;
    ahead += score[c] > score[label] || (score[c] == score[label] && c < label);
  }
  return ahead < topk;
}

}  // namespace

Tensor accuracy(const Variable& pred, const Tensor& labels, int64_t topk) {
  const Tensor scores = pred.value().to(kCPU).to(DType::kF32), targets = labels.to(kCPU).to(DType::kI64);
  OSPREY_REQUIRE(scores.rank() == 2 && targets.shape() == Shape{scores.dim(0)}, "accuracy: pred ",
                 to_string(scores.shape()), ", labels ", to_string(labels.shape()));
  const int64_t rows = scores.dim(0), classes = scores.dim(1);
  int64_t hits = 0;
  for (int64_t i = 0; i < rows; ++i) {
    hits += hit(scores.data<float>() + i * classes, classes, targets.data<int64_t>()[i], topk);
  }
  const double percent = rows == 0 ? 0 : 100.0 * static_cast<double>(hits) / static_cast<double>(rows);
  return Tensor::full({}, percent, DType::kF32);
}

}  // namespace osprey
