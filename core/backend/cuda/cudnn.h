#pragma once

#include <cudnn.h>

#include "core/tensor/tensor.h"

// Only for *_cudnn.cc files.
namespace osprey {

// Throws Error "call: status text: the library's own explanation (op in module)" when a call failed.
void check_cudnn(cudnnStatus_t status, const char* call);
// "status text: the library's own explanation" of the last call.
std::string describe_cudnn(cudnnStatus_t status);
// Whether a convolution with another algorithm may succeed where this status came back: not supported, or no
// memory, or failed when it ran.
bool is_cudnn_refusal(cudnnStatus_t status);
#define OSPREY_CUDNN(call) ::osprey::check_cudnn((call), #call)

// This thread's handle for the device, bound to its current stream.
cudnnHandle_t cudnn_handle(Device device);

// f32, f16, bf16.
cudnnDataType_t cudnn_type_of(DType dtype);

// An owned descriptor: make and destroy are the library's two functions.
template <typename Descriptor, cudnnStatus_t (*make)(Descriptor*), cudnnStatus_t (*destroy)(Descriptor)>
class CudnnDescriptor {
 public:
  CudnnDescriptor() { check_cudnn(make(&descriptor_), "cudnnCreate...Descriptor"); }
  ~CudnnDescriptor() {
    if (descriptor_) (void)destroy(descriptor_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = nullptr;
  }
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  Descriptor get() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
};

using CudnnTensor =
    CudnnDescriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using CudnnFilter =
    CudnnDescriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using CudnnConvolution = CudnnDescriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                                         cudnnDestroyConvolutionDescriptor>;

}  // namespace osprey
