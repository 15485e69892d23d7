#include <limits>

#include "core/backend/cuda/add_bias.h"
#include "core/backend/cuda/cublas.h"
#include "core/backend/dense_math.h"
#include "core/ops/linear_kernel.h"

namespace osprey {
namespace {

int checked_int(int64_t extent) {
  OSPREY_REQUIRE(extent <= std::numeric_limits<int>::max(), "matmul: extent ", extent,
                 " is too large for cuBLAS");
  return static_cast<int>(extent);
}

// cuBLAS sees matrices column by column, where ours are transposed: c^T = op(b)^T op(a)^T.
void gemm(const MatmulArgs& args, Tensor& c) {
  const Tensor &a = args.a, &b = args.b;
  const int m = checked_int(c.dim(0)), n = checked_int(c.dim(1));
  const int k = checked_int(a.dim(args.transpose_a ? 0 : 1));
  const int row_of_a = args.transpose_a ? m : k, row_of_b = args.transpose_b ? k : n;
  const bool tf32 = a.dtype() == DType::kF32 && dense_math_policy().allow_tf32;
  const float one = 1, zero = 0;
  OSPREY_CUBLAS(cublasGemmEx(cublas_handle(c.device()), args.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                             args.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b.raw(),
                             cublas_type_of(b.dtype()), row_of_b, a.raw(), cublas_type_of(a.dtype()),
                             row_of_a, &zero, c.mutable_raw(), cublas_type_of(c.dtype()), n,
                             tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

void matmul_cuda(const MatmulArgs& args, Tensor& c) {
  try {
    gemm(args, c);
  } catch (const Error& error) {
    throw Error(str_cat("matmul of ", describe(args.a), args.transpose_a ? " transposed" : "", " and ",
                        describe(args.b), args.transpose_b ? " transposed" : "", ": ", error.what()));
  }
  if (args.bias.defined()) add_bias_cuda(args.bias, c);
}

OSPREY_REGISTER_KERNEL(matmul_kernel, DeviceType::kCUDA, matmul_cuda);

}  // namespace
}  // namespace osprey
