#include "core/backend/cuda/cublas.h"

#include <map>
#include <memory>

#include "core/backend/cuda/runtime.h"
#include "core/base/work_context.h"

namespace osprey {
namespace {

// Half products are summed in f32 to the end, also where a kernel splits the sum.
cublasHandle_t make_handle() {
  cublasHandle_t handle = nullptr;
  OSPREY_CUBLAS(cublasCreate(&handle));
  OSPREY_CUBLAS(cublasSetMathMode(
      handle,
      static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)));
  return handle;
}

struct Destroy {
  void operator()(cublasHandle_t handle) const { (void)cublasDestroy(handle); }
};

}  // namespace

void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string work = describe_work();
  throw Error(str_cat(call, ": ", cublasGetStatusString(status), work.empty() ? "" : " (" + work + ")",
                      status == CUBLAS_STATUS_EXECUTION_FAILED ? hint_at_earlier_work() : ""));
}

cublasHandle_t cublas_handle(Device device) {
  thread_local std::map<int, std::unique_ptr<cublasContext, Destroy>> handles;
  const cudaStream_t stream = current_stream(device);
  auto& handle = handles[device.index];
  if (!handle) handle.reset(make_handle());
  OSPREY_CUBLAS(cublasSetStream(handle.get(), stream));
  return handle.get();
}

cudaDataType_t cublas_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDA_R_32F;
    case DType::kF16:
      return CUDA_R_16F;
    case DType::kBF16:
      return CUDA_R_16BF;
    default:
      throw Error(str_cat("cuBLAS: no matrices of ", dtype));
  }
}

}  // namespace osprey
