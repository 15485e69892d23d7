#pragma once

#include <cstdint>

#include "core/tensor/tensor.h"

// Which rows, and in what order. All on the device of the input, without a wait of the host.
namespace osprey {

// i64 (n): rows by descending score f32 (n). Equal scores keep their order; a NaN ranks with -inf, last.
Tensor rows_by_score(const Tensor& scores);
// The first `count` of them. Requires 0 <= count <= n.
Tensor top_rows(const Tensor& scores, int64_t count);

struct SelectedRows {
  Tensor rows;   // i64 (n), of which the first `count` are the selected ones, ascending; the rest is garbage
  Tensor count;  // i64 (1)
};
// The rows whose flag, u8 (n), is not 0.
SelectedRows select_rows(const Tensor& flags);

}  // namespace osprey
