#pragma once

#include "core/autograd/variable.h"

// What losses do with one number per row: weights, labels, hits. Everything stays on the device of its first
// argument, which the others are brought to; nothing waits for a GPU. Labels are of any integer dtype.
namespace osprey {

// x (n, ...) with every row multiplied by its weight, weights (n). The weights get no gradient.
Variable scale_rows(const Variable& x, const Tensor& weights);

// Sums of the rows of x (n, c) -> (n).
Variable sum_of_rows(const Variable& x);
// Means of the rows of x (n, c), c > 0 -> (n).
Tensor mean_of_rows(const Tensor& x);

// The largest of the first `columns` numbers of each row of x f32 (n, c), 0 < columns <= c -> f32 (n).
Tensor max_of_rows(const Tensor& x, int64_t columns);
// x f32 (n, c) -> (n, c + 1), the new last column 0: the background that sigmoid scores lack.
Tensor with_zero_column(const Tensor& x);

// Targets f32 (n, classes) of labels (n): 1 at the label; a label outside [0, classes), such as background,
// gives a row of zeros.
Tensor one_hot(const Tensor& labels, int64_t classes);

// f32 of the labels' shape: 0 where the label is `ignored`, else 1.
Tensor unless_equal(const Tensor& labels, int64_t ignored);

// f32 (n): 1 where fewer than k of the scores f32 (n, c) come before the label's, the first of equals ahead,
// else 0. A row with a NaN, or with a label outside [0, c), is no hit.
Tensor topk_hits(const Tensor& scores, const Tensor& labels, int64_t k);

// total / count, both scalars, and 0 when the count is 0: the mean over what counts. No gradient for `count`.
Variable divide_by_count(const Variable& total, const Tensor& count);

}  // namespace osprey
