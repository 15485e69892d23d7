#pragma once

#include "core/tensor/device_kernel.h"
#include "core/tensor/tensor.h"

namespace osprey {

// Row = pixel: `width` neighbouring channels from one map into another.
template <typename T>
struct CopyChannels {
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
  OSPREY_HD void operator()(int64_t row, int64_t begin, int64_t end) const {
    for (int64_t c = begin; c < end; ++c) to[row * to_stride + c] = from[row * from_stride + c];
  }
};

// Copies channels [from_channel, from_channel + width) of `from` to [to_channel, ...) of `to`. One dtype;
// width and pixels are positive.
extern DeviceKernel<void(const Tensor& from, int64_t from_channel, Tensor& to, int64_t to_channel,
                         int64_t width)>
    copy_channels_kernel;

}  // namespace osprey
