#pragma once

#include <cublas_v2.h>

#include "core/tensor/tensor.h"

// Only for *_cublas.cc files.
namespace osprey {

// Throws Error "call: status text (op in module)" when a call failed.
void check_cublas(cublasStatus_t status, const char* call);
#define OSPREY_CUBLAS(call) ::osprey::check_cublas((call), #call)

// This thread's handle for the device, bound to its current stream.
cublasHandle_t cublas_handle(Device device);

// f32, f16, bf16.
cudaDataType_t cublas_type_of(DType dtype);

}  // namespace osprey
