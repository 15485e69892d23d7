#include "losses/accuracy.h"

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"
#include "core/ops/row_ops.h"

namespace osprey {

Tensor accuracy(const Variable& pred, const Tensor& labels, int64_t topk) {
  OSPREY_REQUIRE(pred.value().rank() == 2 && labels.shape() == Shape{pred.dim(0)}, "accuracy: pred ",
                 to_string(pred.shape()), ", labels ", to_string(labels.shape()));
  return (100.0 * mean(Variable(topk_hits(pred.value(), labels, topk)))).value();
}

}  // namespace osprey
