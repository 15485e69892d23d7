#include <algorithm>

#include "core/backend/cpu/lru_cache.h"
#include "core/backend/cpu/packed_weight.h"
#include "core/base/parallel.h"
#include "core/ops/linear_kernel.h"

namespace osprey {
namespace {

using dnnl::memory;
using onednn::Planned;

void matmul_f64(const MatmulArgs& args, Tensor& c) {
  const bool ta = args.transpose_a, tb = args.transpose_b;
  const int64_t m = c.dim(0), n = c.dim(1), k = args.a.dim(ta ? 0 : 1);
  const double* a = args.a.data<double>();
  const double* b = args.b.data<double>();
  const double* bias = args.bias.defined() ? args.bias.data<double>() : nullptr;
  double* out = c.mutable_data<double>();
  parallel_ranges(m, std::max<int64_t>(1, 65536 / (n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = bias ? bias[j] : 0;
        for (int64_t l = 0; l < k; ++l) sum += a[ta ? l * m + i : i * k + l] * b[tb ? j * k + l : l * n + j];
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

// The right side in its compute dtype. A weight of f16 is widened once per version.
memory right_side(const MatmulArgs& args, const memory::desc& desc, Tensor& widened) {
  if (args.b_is_weight) {
    // As it lies, so that forward and backward, which see it transposed and not, share one copy.
    const memory::desc flat({args.b.numel()}, desc.data_type(), memory::format_tag::a);
    const memory weight = onednn::packed_weight(args.b, flat, flat);
    return memory(desc, onednn::engine(), weight.get_data_handle());
  }
  widened = args.b.to(onednn::compute_dtype(args.b.dtype()));
  return onednn::view(desc, widened);
}

// f16 is widened and the result rounded, since oneDNN does not know it: result is f32 then.
void matmul_onednn(const MatmulArgs& args, Tensor& result) {
  const DType dtype = onednn::compute_dtype(args.a.dtype());
  const int64_t m = result.dim(0), n = result.dim(1), k = args.a.dim(args.transpose_a ? 0 : 1);
  onednn::guarded([&] { return str_cat("matmul (", m, ", ", k, ") x (", k, ", ", n, ") ", dtype); },
                  [&] {
                    const auto plan = matmul_plan({m, n, k, args.transpose_a, args.transpose_b,
                                                   args.bias.defined(), dtype, result.dtype()});
                    const Tensor a = args.a.to(dtype);
                    Tensor b, bias;
                    onednn::Args memories{{DNNL_ARG_SRC, onednn::view(plan->desc.src_desc(), a)},
                                          {DNNL_ARG_WEIGHTS, right_side(args, plan->desc.weights_desc(), b)},
                                          {DNNL_ARG_DST, onednn::writable(plan->desc.dst_desc(), result)}};
                    if (args.bias.defined()) {
                      bias = args.bias.to(DType::kF32);
                      memories.insert({DNNL_ARG_BIAS, onednn::view(plan->desc.bias_desc(), bias)});
                    }
                    plan->run(std::move(memories));
                  });
}

void matmul_cpu(const MatmulArgs& args, Tensor& c) {
  if (args.a.dtype() == DType::kF64) {
    matmul_f64(args, c);
  } else if (c.dtype() == DType::kF16) {
    Tensor wide(c.shape(), DType::kF32);
    matmul_onednn(args, wide);
    c.copy_from(wide);
  } else {
    matmul_onednn(args, c);
  }
}

OSPREY_REGISTER_KERNEL(matmul_kernel, DeviceType::kCPU, matmul_cpu);

}  // namespace
}  // namespace osprey
