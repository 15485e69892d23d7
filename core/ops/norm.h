#pragma once

#include "core/autograd/variable.h"
#include "core/nn/parameter.h"

namespace osprey {

class Communicator;

// Batch normalisation over (n, h, w) of x (n, h, w, c) (Ioffe & Szegedy 2015). weight, bias (c), kept in f32
// (f64 with f64 input) whatever x is; the result has x's dtype. Statistics accumulate in f32. training:
// normalises with the batch's biased variance and stages running = (1 - momentum) running + momentum batch
// (unbiased variance) in the buffers. Otherwise uses the buffers' values.
// A batch without elements leaves the statistics alone; so does recomputation under checkpoint(). One value
// per channel stages its biased variance, 0.
// With `ranks` (mmcv's SyncBN) the batch is that of all ranks together, forward and backward: collective in
// training, also for a rank whose x is empty. The gradients of weight and bias are this rank's share.
Variable batch_norm(const Variable& x, const Variable& weight, const Variable& bias, Buffer& running_mean,
                    Buffer& running_var, bool training, double momentum, double eps,
                    Communicator* ranks = nullptr);

// relu(batch_norm(x) [+ residual]) in one pass over memory; residual may be undefined, else it is like x.
Variable batch_norm_relu(const Variable& x, const Variable& weight, const Variable& bias,
                         Buffer& running_mean, Buffer& running_var, bool training, double momentum,
                         double eps, const Variable& residual, Communicator* ranks = nullptr);

// The same with fixed statistics: the hot path of frozen backbones.
Variable batch_norm_inference_relu(const Variable& x, const Variable& weight, const Variable& bias,
                                   const Tensor& running_mean, const Tensor& running_var, double eps,
                                   const Variable& residual);

// Group normalisation (Wu & He 2018): statistics over (h, w, c / groups) of each image. weight, bias (c).
Variable group_norm(const Variable& x, const Variable& weight, const Variable& bias, int64_t groups,
                    double eps);

}  // namespace osprey
