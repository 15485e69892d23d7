#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/error.h"
#include "core/mask/rle.h"

// How core/mask walks and builds run lengths without going through pixels.
namespace osprey {

// Calls visit(begin, end) for each run of ones; positions count column-major.
template <typename Visit>
void for_each_run(const Rle& rle, const Visit& visit) {
  int64_t position = 0;
  for (size_t i = 0; i < rle.counts.size(); ++i) {
    const int64_t end = position + rle.counts[i];
    if (i % 2 == 1 && end > position) visit(position, end);
    position = end;
  }
}

// Rows [y0, y1) of one column that lie inside a mask.
struct Span {
  int64_t y0, y1;
};

// The spans of every column: column x owns spans[begin[x]] ... spans[begin[x + 1] - 1], from top to bottom.
struct ColumnSpans {
  std::vector<Span> spans;
  std::vector<size_t> begin;

  explicit ColumnSpans(const Rle& rle) : begin(static_cast<size_t>(rle.w) + 1, 0) {
    for_each_run(rle, [&](int64_t first, int64_t end) {
      while (first < end) {  // a run may go on at the top of the next column
        const int64_t x = first / rle.h, top = x * rle.h;
        const int64_t stop = std::min(end, top + rle.h);
        spans.push_back({first - top, stop - top});
        ++begin[static_cast<size_t>(x) + 1];
        first = stop;
      }
    });
    for (size_t x = 1; x < begin.size(); ++x) begin[x] += begin[x - 1];
  }

  template <typename Visit>
  void for_each(int64_t x, const Visit& visit) const {
    for (size_t i = begin[x]; i < begin[x + 1]; ++i) visit(spans[i]);
  }
};

// Builds canonical run lengths from pieces given in column-major order; touching pieces join.
class RleBuilder {
 public:
  RleBuilder(int64_t h, int64_t w) : rle_{h, w, {}} {}

  void add(int64_t begin, int64_t end) {
    if (begin >= end) return;
    if (begin == position_ && !rle_.counts.empty()) {
      rle_.counts.back() += static_cast<uint32_t>(end - begin);
    } else {
      rle_.counts.push_back(static_cast<uint32_t>(begin - position_));
      rle_.counts.push_back(static_cast<uint32_t>(end - begin));
    }
    position_ = end;
  }
  void add_span(int64_t x, Span span) { add(x * rle_.h + span.y0, x * rle_.h + span.y1); }

  Rle finish() {
    const int64_t total = rle_.h * rle_.w;
    if (position_ < total || rle_.counts.empty()) {
      rle_.counts.push_back(static_cast<uint32_t>(total - position_));
    }
    return std::move(rle_);
  }

 private:
  Rle rle_;
  int64_t position_ = 0;  // end of the last run of ones
};

}  // namespace osprey
