#include "core/nn/parameter.h"

#include <cstring>

namespace osprey {
namespace {

// out[o][b][a] = in[o][a][b] for a tensor seen as (outer, a, b).
Tensor swap_inner(const Tensor& in, int64_t outer, int64_t a, int64_t b, Shape out_shape) {
  const Tensor host = in.to(kCPU);
  Tensor out(std::move(out_shape), in.dtype());
  const size_t width = size_of(in.dtype());
  const char* from = static_cast<const char*>(host.raw());
  char* to = static_cast<char*>(out.mutable_raw());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < a; ++i) {
      for (int64_t j = 0; j < b; ++j) {
        std::memcpy(to + ((o * b + j) * a + i) * width, from + ((o * a + i) * b + j) * width, width);
      }
    }
  }
  return out.to(in.device());
}

}  // namespace

Tensor WeightLayout::to_reference(const Tensor& stored) const {
  if (kind == kPlain) return stored;
  const Shape& s = stored.shape();
  if (kind == kLinearMap) return swap_inner(stored, s[0], h * w, s[1] / (h * w), s);
  return swap_inner(stored, s[0], s[1] * s[2], s[3], {s[0], s[3], s[1], s[2]});
}

Tensor WeightLayout::from_reference(const Tensor& reference) const {
  if (kind == kPlain) return reference;
  const Shape& s = reference.shape();
  if (kind == kLinearMap) return swap_inner(reference, s[0], s[1] / (h * w), h * w, s);
  return swap_inner(reference, s[0], s[1], s[2] * s[3], {s[0], s[2], s[3], s[1]});
}

}  // namespace osprey
