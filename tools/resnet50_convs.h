#pragma once

#include <cstdint>
#include <vector>

namespace osprey {

// One convolution of a network, on square padding.
struct ConvLayer {
  int64_t n, h, w, ci, co, kernel, stride;
  int64_t out_h() const { return (h - 1) / stride + 1; }
  int64_t out_w() const { return (w - 1) / stride + 1; }
  // Multiplications and additions of the forward pass.
  double flops() const {
    return 2.0 * static_cast<double>(n * out_h() * out_w() * co) * static_cast<double>(ci * kernel * kernel);
  }
};

// The 53 convolutions of ResNet-50 (He et al. 2016, Table 1; stride in the 3x3, as pytorch-style backbones
// have it) on n images of h x w.
std::vector<ConvLayer> resnet50_convs(int64_t n, int64_t h, int64_t w);

}  // namespace osprey
