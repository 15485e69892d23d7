#pragma once

#include "core/autograd/variable.h"

// Losses between predicted and true boxes, row by row, in f32 (f64 for f64). pred, target (n, 4) xyxy in
// pixels; the target gets no gradient. Values and gradients are finite for every finite box of non-negative
// size, empty and identical ones included; NaN stays NaN. Where two coordinates tie, each gets half the
// gradient, as in the reference.
namespace osprey {

// Yu et al., "UnitBox": -log IoU, or 1 - IoU when `linear`; the IoU is floored at eps. Returns (n).
Variable iou_loss(const Variable& pred, const Tensor& target, bool linear, double eps);
// Rezatofighi et al., "Generalized Intersection over Union": 1 - GIoU. Returns (n).
Variable giou_loss(const Variable& pred, const Tensor& target, double eps);
// Zheng et al., "Distance-IoU Loss", eq. (7): 1 - IoU + (distance of the centres / hull diagonal)^2. (n).
Variable diou_loss(const Variable& pred, const Tensor& target, double eps);
// The same, eq. (10), with the aspect ratio's term v^2 / (1 - IoU + v), differentiated through. Returns (n).
Variable ciou_loss(const Variable& pred, const Tensor& target, double eps);
// Tychsen-Smith and Petersson, "Fitness NMS", section 4, smoothed below beta. Returns (n, 4): x, y, w, h.
Variable bounded_iou_loss(const Variable& pred, const Tensor& target, double beta, double eps);

}  // namespace osprey
