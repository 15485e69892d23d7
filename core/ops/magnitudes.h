#pragma once

#include <array>
#include <cstdint>

#include "core/tensor/tensor.h"

namespace osprey {

// How large the elements of a floating tensor are: all that a format's range asks of them.
struct Magnitudes {
  int64_t count = 0;  // elements
  int64_t zeros = 0;
  int64_t infs = 0;
  int64_t nans = 0;
  // Of the finite elements that are not 0; 0 when there are none.
  double largest = 0;
  double smallest = 0;
  // binades[b]: finite elements with magnitudes in [2^(b - 127), 2^(b - 126)); [0]: below 2^-126, zeros not
  // among them.
  std::array<int64_t, 255> binades{};

  bool finite() const { return infs == 0 && nans == 0; }
  int64_t nonzero() const { return count - zeros - infs - nans; }
  void merge(const Magnitudes& other);
};

// Of an f64, f16 or bf16 tensor as f32 shows it. On CUDA this synchronises; the counting happens there.
Magnitudes measure_magnitudes(const Tensor& value);

}  // namespace osprey
