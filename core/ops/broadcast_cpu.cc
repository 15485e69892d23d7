#include "core/backend/cpu/launch.h"
#include "core/ops/broadcast_kernel.h"

// Only f32 and f64 are instantiated: compilers do not vectorise the conversion of single halves, so these are
// widened as a whole first, and the results are rounded once.
namespace osprey {
namespace {

template <typename F>
void with_wide_type(DType dtype, const F& f) {
  dtype == DType::kF64 ? f(TypeTag<double>{}) : f(TypeTag<float>{});
}

DType wide_dtype(DType dtype) { return dtype == DType::kF64 ? DType::kF64 : DType::kF32; }
Tensor widened(const Tensor& x) { return x.defined() ? x.to(wide_dtype(x.dtype())) : Tensor(); }
// Where a result is computed: `out` itself, unless that is a half.
Tensor wide_like(const Tensor& out) { return is_half(out.dtype()) ? Tensor(out.shape(), DType::kF32) : out; }
void finish(const Tensor& wide, Tensor& out) {
  if (is_half(out.dtype())) out.copy_from(wide);
}

void add_per_image_cpu(const Tensor& x, const Tensor& v, double scale, Tensor& out) {
  const Tensor base = widened(x), added = widened(v);
  Tensor result = wide_like(out);
  const int64_t channels = out.dim(3), pixels = out.dim(1) * out.dim(2);
  with_wide_type(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(out.dim(0) * pixels, channels,
                      AddPerImage<T>{base.defined() ? base.data<T>() : nullptr, added.data<T>(),
                                     static_cast<T>(scale), pixels, channels, result.mutable_data<T>()});
  });
  finish(result, out);
}

void blend_cpu(const Tensor& a, const Tensor& b, const Tensor& gate, Tensor& out) {
  const Tensor wide_a = widened(a), wide_b = widened(b), wide_gate = widened(gate);
  Tensor result = wide_like(out);
  with_wide_type(out.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_rows_cpu(gate.numel(), out.dim(3),
                      Blend<T>{wide_a.data<T>(), wide_b.data<T>(), wide_gate.data<T>(), out.dim(3),
                               result.mutable_data<T>()});
  });
  finish(result, out);
}

void blend_backward_cpu(const Tensor& grad_out, const Tensor& a, const Tensor& b, const Tensor& gate,
                        Tensor& grad_a, Tensor& grad_b, Tensor& grad_gate) {
  const Tensor g = widened(grad_out), wide_a = widened(a), wide_b = widened(b), wide_gate = widened(gate);
  Tensor result_a = wide_like(grad_a), result_b = wide_like(grad_b);
  with_wide_type(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const BlendGrad<T, 1> pixel{
        g.data<T>(), wide_a.data<T>(),           wide_b.data<T>(),           wide_gate.data<T>(),
        a.dim(3),    result_a.mutable_data<T>(), result_b.mutable_data<T>(), grad_gate.mutable_data<T>()};
    parallel_for_cpu(
        gate.numel(),
        [&](int64_t row) {
          T sum = 0;
          pixel.add(row, 0, &sum);
          pixel.finish(row, &sum);
        },
        /*grain=*/64);
  });
  finish(result_a, grad_a);
  finish(result_b, grad_b);
}

OSPREY_REGISTER_KERNEL(add_per_image_kernel, DeviceType::kCPU, add_per_image_cpu);
OSPREY_REGISTER_KERNEL(blend_kernel, DeviceType::kCPU, blend_cpu);
OSPREY_REGISTER_KERNEL(blend_backward_kernel, DeviceType::kCPU, blend_backward_cpu);

}  // namespace
}  // namespace osprey
