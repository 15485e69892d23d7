#include <algorithm>

#include "core/backend/cpu/lru_cache.h"
#include "core/backend/cpu/onednn.h"
#include "core/base/parallel.h"
#include "core/ops/linear_kernel.h"

namespace osprey {
namespace {

using dnnl::memory;
using onednn::Planned;

void matmul_f64(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const Tensor& bias,
                Tensor& c) {
  const int64_t m = c.dim(0), n = c.dim(1), k = a.dim(transpose_a ? 0 : 1);
  const double* left = a.data<double>();
  const double* right = b.data<double>();
  const double* offset = bias.defined() ? bias.data<double>() : nullptr;
  double* out = c.mutable_data<double>();
  parallel_ranges(m, std::max<int64_t>(1, 65536 / (n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = offset ? offset[j] : 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += left[transpose_a ? l * m + i : i * k + l] * right[transpose_b ? j * k + l : l * n + j];
        }
        out[i * n + j] = sum;
      }
    }
  });
}

memory::desc matrix(int64_t rows, int64_t columns, DType dtype, bool transposed) {
  return {
      {rows, columns}, onednn::type_of(dtype), transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

// Extents, and dtypes, of c (m, n) = op(a) (m, k) op(b) (k, n).
struct MatmulShape {
  int64_t m, n, k;
  bool transpose_a, transpose_b, bias;
  DType dtype, result;
};

auto matmul_plan(const MatmulShape& s) {
  static LruCache<Planned<dnnl::matmul>> plans(4096);
  const LruCache<Planned<dnnl::matmul>>::Key key{s.m,
                                                 s.n,
                                                 s.k,
                                                 s.transpose_a,
                                                 s.transpose_b,
                                                 s.bias,
                                                 static_cast<int64_t>(s.dtype),
                                                 static_cast<int64_t>(s.result)};
  return plans.get(key, [&] {
    const memory::desc a = matrix(s.m, s.k, s.dtype, s.transpose_a);
    const memory::desc b = matrix(s.k, s.n, s.dtype, s.transpose_b);
    const memory::desc c = matrix(s.m, s.n, s.result, false);
    const dnnl::matmul::desc desc = s.bias ? dnnl::matmul::desc(a, b, matrix(1, s.n, DType::kF32, false), c)
                                           : dnnl::matmul::desc(a, b, c);
    return Planned<dnnl::matmul>({desc, onednn::attributes(), onednn::engine()});
  });
}

// a, b: f32 or bf16.
void matmul_onednn(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const Tensor& bias,
                   Tensor& c) {
  const int64_t m = c.dim(0), n = c.dim(1), k = a.dim(transpose_a ? 0 : 1);
  onednn::guarded([&] { return str_cat("matmul (", m, ", ", k, ") x (", k, ", ", n, ") ", a.dtype()); },
                  [&] {
                    const auto plan = matmul_plan(
                        {m, n, k, transpose_a, transpose_b, bias.defined(), a.dtype(), c.dtype()});
                    const Tensor bias32 = bias.defined() ? bias.to(DType::kF32) : Tensor();
                    onednn::Args args{{DNNL_ARG_SRC, onednn::view(plan->desc.src_desc(), a)},
                                      {DNNL_ARG_WEIGHTS, onednn::view(plan->desc.weights_desc(), b)},
                                      {DNNL_ARG_DST, onednn::writable(plan->desc.dst_desc(), c)}};
                    if (bias.defined())
                      args.insert({DNNL_ARG_BIAS, onednn::view(plan->desc.bias_desc(), bias32)});
                    plan->run(std::move(args));
                  });
}

// f16 is widened and the result rounded: oneDNN does not know it.
void matmul_cpu(const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b, const Tensor& bias,
                Tensor& c) {
  if (a.dtype() == DType::kF64) {
    matmul_f64(a, b, transpose_a, transpose_b, bias, c);
  } else if (a.dtype() == DType::kF16) {
    Tensor wide(c.shape(), DType::kF32);
    matmul_onednn(a.to(DType::kF32), b.to(DType::kF32), transpose_a, transpose_b, bias, wide);
    c.copy_from(wide);
  } else {
    matmul_onednn(a, b, transpose_a, transpose_b, bias, c);
  }
}

OSPREY_REGISTER_KERNEL(matmul_kernel, DeviceType::kCPU, matmul_cpu);

}  // namespace
}  // namespace osprey
