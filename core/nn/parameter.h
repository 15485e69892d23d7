#pragma once

#include <string>
#include <vector>

#include "core/autograd/variable.h"

namespace osprey {

// How a weight lies in memory, against how PyTorch's state dict shows it. state_dict, checkpoints, optimizer
// files and golden fixtures speak the reference layout; kernels see the stored one. The conversion happens at
// that border only.
struct WeightLayout {
  enum Kind {
    kPlain,      // the same in both
    kConv,       // stored (o, kh, kw, i), reference (o, i, kh, kw)
    kDeconv,     // stored (i, kh, kw, o), reference (i, o, kh, kw)
    kLinearMap,  // linear over a flattened (h, w, c) map: stored (o, h*w*c), reference (o, c*h*w)
  };
  Kind kind = kPlain;
  int64_t h = 1, w = 1;  // kLinearMap: extent of the map

  Tensor to_reference(const Tensor& stored) const;
  Tensor from_reference(const Tensor& reference) const;
};

// A trainable tensor of a module.
struct Parameter {
  Variable variable;  // leaf; its dtype is the precision the layer computes in
  WeightLayout layout;

  operator const Variable&() const { return variable; }  // NOLINT: stands for its variable in ops
  bool requires_grad() const { return variable.requires_grad(); }
};

// A tensor that training updates without gradients (BN running statistics). Writes during forward are staged:
// an iteration that is rolled back leaves `value` untouched (the commit is Module::commit_buffers()).
struct Buffer {
  Tensor value;
  Tensor staged;  // undefined when nothing is pending

  const Tensor& current() const { return staged.defined() ? staged : value; }
};

}  // namespace osprey
