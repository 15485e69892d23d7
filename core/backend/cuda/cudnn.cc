#include "core/backend/cuda/cudnn.h"

#include <map>
#include <memory>

#include "core/backend/cuda/runtime.h"
#include "core/base/work_context.h"

namespace osprey {
namespace {

struct Destroy {
  void operator()(cudnnHandle_t handle) const { (void)cudnnDestroy(handle); }
};

}  // namespace

std::string describe_cudnn(cudnnStatus_t status) {
  char reason[512] = "";
  cudnnGetLastErrorString(reason, sizeof reason);
  return str_cat(cudnnGetErrorString(status), *reason ? str_cat(": ", reason) : "");
}

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string work = describe_work();
  throw Error(str_cat(call, ": ", describe_cudnn(status), work.empty() ? "" : " (" + work + ")"));
}

bool is_cudnn_refusal(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(static_cast<int>(status))) {
    case CUDNN_STATUS_NOT_SUPPORTED:
    case CUDNN_STATUS_EXECUTION_FAILED:
      return true;
    default:
      return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
             status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  }
}

cudnnHandle_t cudnn_handle(Device device) {
  thread_local std::map<int, std::unique_ptr<cudnnContext, Destroy>> handles;
  const cudaStream_t stream = current_stream(device);
  auto& handle = handles[device.index];
  if (!handle) {
    cudnnHandle_t made = nullptr;
    OSPREY_CUDNN(cudnnCreate(&made));
    handle.reset(made);
  }
  OSPREY_CUDNN(cudnnSetStream(handle.get(), stream));
  return handle.get();
}

cudnnDataType_t cudnn_type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return CUDNN_DATA_FLOAT;
    case DType::kF16:
      return CUDNN_DATA_HALF;
    case DType::kBF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      throw Error(str_cat("cuDNN: no maps of ", dtype));
  }
}

}  // namespace osprey
