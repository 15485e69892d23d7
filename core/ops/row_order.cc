#include "core/ops/row_order.h"

#include "core/ops/row_order_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, Tensor&)> top_rows_kernel("top_rows");
DeviceKernel<void(const Tensor&, Tensor&, Tensor&)> select_rows_kernel("select_rows");

Tensor top_rows(const Tensor& scores, int64_t count) {
  OSPREY_REQUIRE(scores.rank() == 1 && scores.dtype() == DType::kF32 && count >= 0 && count <= scores.dim(0),
                 "top_rows: ", count, " rows of scores that must be f32 (n), got ", describe(scores));
  Tensor rows({count}, DType::kI64, scores.device());
  if (!rows.empty()) top_rows_kernel(scores.device(), scores, rows);
  return rows;
}

Tensor rows_by_score(const Tensor& scores) { return top_rows(scores, scores.numel()); }

SelectedRows select_rows(const Tensor& flags) {
  OSPREY_REQUIRE(flags.rank() == 1 && flags.dtype() == DType::kU8, "select_rows: flags must be u8 (n), got ",
                 describe(flags));
  SelectedRows selected{Tensor(flags.shape(), DType::kI64, flags.device()),
                        Tensor::zeros({1}, DType::kI64, flags.device())};
  if (!flags.empty()) select_rows_kernel(flags.device(), flags, selected.rows, selected.count);
  return selected;
}

}  // namespace osprey
