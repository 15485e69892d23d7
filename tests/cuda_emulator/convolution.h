#pragma once

#include <cstddef>

#include "tests/cuda_emulator/matrices.h"

// Convolution as the double computes it: patches laid out as rows of a matrix, then products in f32.
namespace osprey::emulator {

// NHWC maps, weights (co, kh, kw, ci / groups).
struct ConvolutionShape {
  int n, h, w, ci, oh, ow, co, kh, kw, pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w, groups;

  size_t x_count() const { return static_cast<size_t>(n) * h * w * ci; }
  size_t y_count() const { return static_cast<size_t>(n) * oh * ow * co; }
  size_t weight_count() const { return static_cast<size_t>(co) * kh * kw * (ci / groups); }
};

enum class ConvolutionPass { kForward, kBackwardData, kBackwardWeight };

struct ConvolutionArrays {
  const void *x, *weight, *y;  // the pass's result among them
};

// result = alpha * pass + beta * result.
void convolve(ConvolutionPass pass, const ConvolutionShape& shape, Number number, bool tf32,
              const ConvolutionArrays& arrays, float alpha, float beta);

}  // namespace osprey::emulator
