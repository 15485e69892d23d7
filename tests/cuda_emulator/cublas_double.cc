#include <cublas_v2.h>

#include <algorithm>

#include "core/base/strings.h"
#include "tests/cuda_emulator/arena.h"
#include "tests/cuda_emulator/emulator.h"
#include "tests/cuda_emulator/fail.h"
#include "tests/cuda_emulator/handles.h"
#include "tests/cuda_emulator/matrices.h"
#include "tests/cuda_emulator/streams.h"

// The calls of cuBLAS that Osprey makes.
namespace osprey::emulator {
namespace {

struct Blas {
  int device;
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

Handles<Blas>& handles() {
  static auto& handles = *new Handles<Blas>;
  return handles;
}

bool number_of(cudaDataType type, Number& number) {
  switch (type) {
    case CUDA_R_32F:
      number = Number::kF32;
      return true;
    case CUDA_R_16F:
      number = Number::kF16;
      return true;
    case CUDA_R_16BF:
      number = Number::kBF16;
      return true;
    default:
      return false;
  }
}

// A column-major matrix as the caller described it.
struct Matrix {
  const void* data;
  int rows, columns, ld;
  Number number;

  // From the first to the last element: gaps between columns belong to it, the one behind the last does not.
  size_t elements() const { return static_cast<size_t>(ld) * (columns - 1) + rows; }
  size_t bytes() const { return elements() * bytes_of(number); }
};

Stream& checked_stream(const Blas& blas) {
  if (blas.stream == nullptr) fail("cublasGemmEx: the handle was given no stream");
  if (blas.device != current_device()) {
    fail(str_cat("cublasGemmEx: a handle of device ", blas.device, " while device ", current_device(),
                 " is the thread's current one"));
  }
  return stream_of(blas.stream, "cublasGemmEx");
}

// Column-major c = a b is row-major c^T = b^T a^T: the operands change places.
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, Product p, bool tf32, float alpha,
              float beta) {
  const std::vector<float> left = read_numbers(b.data, b.elements(), b.number, tf32);
  const std::vector<float> right = read_numbers(a.data, a.elements(), a.number, tf32);
  std::vector<float> packed(static_cast<size_t>(c.rows) * c.columns, 0.0f);
  p.ldc = c.rows;
  add_product(p, left.data(), right.data(), packed.data());
  char* target = static_cast<char*>(const_cast<void*>(c.data));
  if (c.ld == c.rows) return write_numbers(packed, target, c.number, alpha, beta);
  for (int column = 0; column < c.columns; ++column) {
    const auto begin = packed.begin() + static_cast<ptrdiff_t>(column) * c.rows;
    write_numbers({begin, begin + c.rows}, target + static_cast<size_t>(column) * c.ld * bytes_of(c.number),
                  c.number, alpha, beta);
  }
}

}  // namespace
}  // namespace osprey::emulator

using namespace osprey::emulator;
using osprey::str_cat;

#define LOCK const std::lock_guard lock(driver_mutex())

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  LOCK;
  *handle = reinterpret_cast<cublasHandle_t>(handles().make({current_device()}));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  LOCK;
  return handles().destroy(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  LOCK;
  Blas* blas = handles().find(handle);
  if (blas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  (void)stream_of(stream, "cublasSetStream");
  blas->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  LOCK;
  Blas* blas = handles().find(handle);
  if (blas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  blas->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    default:
      return "a status the double does not name";
  }
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                            int n, int k, const void* alpha, const void* A, cudaDataType a_type, int lda,
                            const void* B, cudaDataType b_type, int ldb, const void* beta, void* C,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {
  LOCK;
  const Blas* blas = handles().find(handle);
  if (blas == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool ta = transa != CUBLAS_OP_N, tb = transb != CUBLAS_OP_N;
  Matrix a{A, ta ? k : m, ta ? m : k, lda, {}}, b{B, tb ? n : k, tb ? k : n, ldb, {}}, c{C, m, n, ldc, {}};
  if (!number_of(a_type, a.number) || !number_of(b_type, b.number) || !number_of(c_type, c.number)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  // The documentation's table for 32-bit compute: a and b alike; c like them, or f32.
  const bool known_compute = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (!known_compute || a.number != b.number || (c.number != a.number && c.number != Number::kF32)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (m < 0 || n < 0 || k < 0 || lda < std::max(1, a.rows) || ldb < std::max(1, b.rows) ||
      ldc < std::max(1, m) || alpha == nullptr || beta == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (Arena::get().contains(alpha) || Arena::get().contains(beta)) {
    fail("cublasGemmEx: alpha and beta are device pointers, the handle's pointer mode is host");
  }
  if (machine().broken != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (k == 0) fail("cublasGemmEx: the double does not scale c alone (k = 0)");
  Stream& stream = checked_stream(*blas);
  require_device_memory(A, a.bytes(), stream, "cublasGemmEx", "A");
  require_device_memory(B, b.bytes(), stream, "cublasGemmEx", "B");
  require_device_memory(C, c.bytes(), stream, "cublasGemmEx", "C");
  const bool tf32 =
      compute == CUBLAS_COMPUTE_32F_FAST_TF32 || (blas->math & 0xF) == CUBLAS_TF32_TENSOR_OP_MATH;
  const Product product{n, m, k, tb, ta, ldb, lda, 0};
  ++counts().launches;
  enqueue(stream, "cublasGemmEx",
          [a, b, c, product, tf32, alpha = *static_cast<const float*>(alpha),
           beta = *static_cast<const float*>(beta)] { multiply(a, b, c, product, tf32, alpha, beta); });
  return CUBLAS_STATUS_SUCCESS;
}
