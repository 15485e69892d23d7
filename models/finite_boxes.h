#pragma once

#include <string>
#include <vector>

#include "core/detection/detector.h"

// A box with a NaN coordinate fails every IoU comparison: assigners would ignore it in silence, the later
// stages would go on with finite losses, and the broken weights would be saved. So such boxes are taken out,
// and the loss of whoever made them becomes NaN, which rolls the iteration back and names the stage.
namespace osprey {

// Rows of boxes f32 (n, c) without a NaN or an infinity, ascending.
std::vector<int64_t> finite_rows(const Tensor& boxes);

struct FiniteBoxes {
  Tensors boxes;   // per image
  Tensor penalty;  // f32 (): NaN when there was such a box; undefined or 0 when not
};
// boxes[i]: f32 (n, c). The rows are removed, or on CUDA, where nobody waits to learn how many they are,
// become zeros: the iteration is lost either way.
FiniteBoxes keep_finite(const Tensors& boxes);
// At test time: removes them with a warning that names `maker`.
Tensors keep_finite_or_warn(const Tensors& boxes, const std::string& maker);

// The losses, with the penalty added to the one called `name`.
LossDict fail_unless_finite(const FiniteBoxes& boxes, const LossDict& losses, const std::string& name);

}  // namespace osprey
