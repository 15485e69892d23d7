#include "core/backend/cuda/dispatch.h"
#include "core/backend/cuda/launch.cuh"
#include "core/tensor/copy.h"

// What a Tensor itself needs of its device: filling, and conversion between dtypes.
namespace osprey {
namespace {

template <typename T>
struct Fill {
  T* out;
  T value;
  OSPREY_HD void operator()(int64_t i) const { out[i] = value; }
};

template <typename From, typename To>
struct Convert {
  const From* in;
  To* out;
  OSPREY_HD void operator()(int64_t i) const {
    out[i] = static_cast<To>(static_cast<ComputeType<To>>(static_cast<ComputeType<From>>(in[i])));
  }
};

void fill_cuda(Tensor& tensor, double value) {
  if (value == 0) {
    const cudaStream_t stream = current_stream(tensor.device());
    OSPREY_CUDA(cudaMemsetAsync(tensor.mutable_raw(), 0, tensor.bytes(), stream));
    return;
  }
  dispatch_all(tensor.dtype(), "fill", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T typed = static_cast<T>(static_cast<ComputeType<T>>(value));
    parallel_for_cuda(tensor.device(), tensor.numel(), Fill<T>{tensor.mutable_data<T>(), typed});
  });
}

// Every dtype but f64, which does not exist on a device.
template <typename F>
void dispatch_device(DType dtype, F&& f) {
  dispatch_all(dtype, "convert", [&](auto tag) {
    if constexpr (!std::is_same_v<typename decltype(tag)::type, double>) f(tag);
  });
}

void convert_cuda(const Tensor& source, Tensor& target) {
  dispatch_device(source.dtype(), [&](auto from) {
    using From = typename decltype(from)::type;
    dispatch_device(target.dtype(), [&](auto to) {
      using To = typename decltype(to)::type;
      if constexpr (!std::is_same_v<From, To>) {
        parallel_for_cuda(target.device(), target.numel(),
                          Convert<From, To>{source.data<From>(), target.mutable_data<To>()});
      }
    });
  });
}

// Threads that find something write the same number: no atomics.
template <typename T>
struct MarkNonfinite {
  const T* values;
  int32_t* mark;
  OSPREY_HD void operator()(int64_t i) const {
    const float x = static_cast<float>(values[i]);
    if (!(x - x == 0)) *mark = 1;
  }
};

void mark_nonfinite_cuda(const Tensor& tensor, Tensor& mark) {
  dispatch_cuda(tensor.dtype(), "all_finite", [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_for_cuda(tensor.device(), tensor.numel(),
                      MarkNonfinite<T>{tensor.data<T>(), mark.mutable_data<int32_t>()});
  });
}

OSPREY_REGISTER_KERNEL(mark_nonfinite_kernel, DeviceType::kCUDA, mark_nonfinite_cuda);
OSPREY_REGISTER_KERNEL(fill_kernel, DeviceType::kCUDA, fill_cuda);
OSPREY_REGISTER_KERNEL(convert_kernel, DeviceType::kCUDA, convert_cuda);

}  // namespace
}  // namespace osprey
