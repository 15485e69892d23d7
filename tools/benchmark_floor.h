#pragma once

#include <functional>
#include <vector>

#include "core/tensor/dtype.h"
#include "tools/resnet50_convs.h"

namespace osprey {

// The hardware's own rate, against which ours is measured: oneDNN's primitives alone, every memory in the
// layout that the library prefers, no reorders. Each returned function runs one primitive. f32 or bf16.
struct FloorConvs {
  std::vector<std::function<void()>> forward, backward;
};
FloorConvs make_floor_convs(const std::vector<ConvLayer>& layers, DType dtype);

}  // namespace osprey
