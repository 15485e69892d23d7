#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/tensor/half.h"

namespace osprey {

// One loss per row. `top` and `log_sum` (largest logit, log of the sum of exp(x - top)) are kept apart for
// the gradient: their sum would lose the fraction of a logit like 1e6.
template <typename T>
struct SoftmaxCrossEntropy {
  const T* logits;  // (n, classes)
  const int64_t* labels;
  const T* class_weight;  // (classes), or null
  int64_t classes, ignore_index;
  T *loss, *top, *log_sum;  // (n)

  OSPREY_HD void operator()(int64_t row) const {
    const T* x = logits + row * classes;
    const int64_t label = labels[row];
    T largest = -std::numeric_limits<T>::infinity();
    for (int64_t c = 0; c < classes; ++c) largest = x[c] > largest ? x[c] : largest;
    T sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
    top[row] = largest;
    log_sum[row] = std::log(sum);
    if (label == ignore_index) {
      loss[row] = 0;
    } else if (label < 0 || label >= classes) {
      loss[row] = std::numeric_limits<T>::quiet_NaN();
    } else {
      const T nll = log_sum[row] - (x[label] - largest);
      loss[row] = class_weight ? class_weight[label] * nll : nll;
    }
  }
};

// d loss / d logit = weight (softmax - onehot).
template <typename T>
struct SoftmaxCrossEntropyGrad {
  const T* logits;
  const int64_t* labels;
  const T* class_weight;
  int64_t classes, ignore_index;
  const T *top, *log_sum, *grad;  // (n)
  T* grad_logits;                 // (n, classes)

  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    const T* x = logits + row * classes;
    T* out = grad_logits + row * classes;
    const int64_t label = labels[row];
    const bool outside = label < 0 || label >= classes;
    T scale = grad[row];
    if (class_weight && !outside) scale *= class_weight[label];
    if (outside) scale = std::numeric_limits<T>::quiet_NaN();
    for (int64_t c = begin; c < end; ++c) {
      const T softmax = std::exp((x[c] - top[row]) - log_sum[row]);
      out[c] = label == ignore_index ? T(0) : scale * (softmax - (c == label ? T(1) : T(0)));
    }
  }
};

}  // namespace osprey
