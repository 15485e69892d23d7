#include "core/ops/label_ops.h"

#include "core/ops/label_ops_kernel.h"

namespace osprey {

Tensor replace_label(const Tensor& labels, int64_t label, const Tensor& replacement) {
  OSPREY_REQUIRE(labels.shape() == replacement.shape() && labels.device() == replacement.device(),
                 "replace_label: labels ", describe(labels), ", replacement ", describe(replacement));
  Tensor out = Tensor::empty_like(labels);
  for_rows(
      labels.device(), labels.numel(),
      ReplaceLabel{labels.data<int64_t>(), label, replacement.data<int64_t>(), out.mutable_data<int64_t>()});
  return out;
}

Tensor gather_integers(const Tensor& values, const Tensor& rows) {
  OSPREY_REQUIRE(values.device() == rows.device(), "gather_integers: values ", describe(values), ", rows ",
                 describe(rows));
  Tensor out = Tensor::empty_like(rows);
  for_rows(rows.device(), rows.numel(),
           GatherInteger{values.data<int64_t>(), rows.data<int64_t>(), out.mutable_data<int64_t>()});
  return out;
}

}  // namespace osprey
