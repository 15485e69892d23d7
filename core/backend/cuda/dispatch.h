#pragma once

#include "core/tensor/dtype.h"

namespace osprey {

// dispatch_floating without f64, which lives on the CPU only.
template <typename F>
auto dispatch_cuda(DType dtype, const char* op, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF16:
      return f(TypeTag<Half>{});
    case DType::kBF16:
      return f(TypeTag<BFloat16>{});
    default:
      throw Error(str_cat(op, ": no CUDA kernel for ", dtype));
  }
}

}  // namespace osprey
