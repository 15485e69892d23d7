#include "core/ops/pixel_softmax.h"

#include "core/ops/broadcast_kernel.h"
#include "core/ops/channel_sum.h"
#include "core/ops/elementwise_kernel.h"
#include "core/ops/map.h"
#include "core/ops/reduce.h"

namespace osprey {
namespace {

// d logits = a (g - sum of g a), the sum over an image.
Tensor backward(const Tensor& a, const Tensor& g) {
  const Tensor product = map<Multiply>({a, g});
  Tensors sums;
  for (int64_t i = 0; i < a.dim(0); ++i) sums.push_back(channel_sum(product[i]).reshape({1, 1, 1, 1}));
  Tensor centred = Tensor::empty_like(g);
  add_per_image_kernel(g.device(), g, concat(sums), -1, centred);
  return map<Multiply>({a, centred});
}

}  // namespace

Variable pixel_softmax(const Variable& logits) {
  const Shape& s = logits.shape();
  OSPREY_REQUIRE(s.size() == 4 && s[3] == 1 && s[1] > 0 && s[2] > 0,
                 "pixel_softmax: logits must be (n, h, w, 1) with pixels, got ", describe(logits.value()));
  const Tensor a = softmax_rows(logits.value().reshape({s[0], s[1] * s[2]})).reshape(s);
  return record("pixel_softmax", a, {logits},
                [a](const Tensor& g) { return Gradients{g.empty() ? g : backward(a, g)}; });
}

}  // namespace osprey
