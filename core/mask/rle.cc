#include "core/mask/rle.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/mask/rle_spans.h"

namespace osprey {
namespace {

// Columns per tile of encode(): the row-major bitmap is read in cache lines, not in single bytes.
constexpr int64_t kTile = 64;

// `column` holds 0 and 1 only.
void encode_column(const uint8_t* column, int64_t h, int64_t x, RleBuilder& builder) {
  const auto find = [&](int value, int64_t from) {
    const void* found = std::memchr(column + from, value, static_cast<size_t>(h - from));
    return found ? static_cast<const uint8_t*>(found) - column : h;
  };
  for (int64_t y = find(1, 0); y < h;) {
    const int64_t end = find(0, y);
    builder.add_span(x, {y, end});
    y = find(1, end);
  }
}

// Transposes the columns [x0, x0 + columns) of a bitmap into `tile` as 0 and 1. Most of an image is outside
// the mask: such stretches of a row are only looked at.
void fill_tile(const uint8_t* bitmap, int64_t h, int64_t w, int64_t x0, int64_t columns,
               std::vector<uint8_t>& tile) {
  static constexpr uint8_t kZeros[kTile] = {};
  std::fill(tile.begin(), tile.end(), uint8_t{0});
  for (int64_t y = 0; y < h; ++y) {
    const uint8_t* row = bitmap + y * w + x0;
    if (std::memcmp(row, kZeros, static_cast<size_t>(columns)) == 0) continue;
    for (int64_t x = 0; x < columns; ++x) tile[x * h + y] = row[x] != 0;
  }
}

// Walks the runs of two masks of one size side by side: visit(begin, end, in_a, in_b) for each piece on which
// neither changes.
template <typename Visit>
void for_each_piece(const Rle& a, const Rle& b, const Visit& visit) {
  const int64_t total = a.h * a.w;
  const auto end_of = [total](const Rle& rle, size_t run, int64_t position) {
    return run < rle.counts.size() ? position + rle.counts[run] : total;
  };
  size_t run_a = 0, run_b = 0;
  int64_t end_a = end_of(a, 0, 0), end_b = end_of(b, 0, 0);
  for (int64_t position = 0; position < total;) {
    const int64_t end = std::min(end_a, end_b);
    if (end > position) visit(position, end, run_a % 2 == 1, run_b % 2 == 1);
    position = end;
    if (position == total) break;
    if (end_a == end) end_a = end_of(a, ++run_a, end);
    if (end_b == end) end_b = end_of(b, ++run_b, end);
  }
}

void check_same_size(const char* function, const Rle& a, const Rle& b) {
  OSPREY_REQUIRE(a.h == b.h && a.w == b.w, function, ": masks of ", a.h, " x ", a.w, " and ", b.h, " x ",
                 b.w);
}

Rle merge_pair(const Rle& a, const Rle& b, bool intersect) {
  check_same_size("merge", a, b);
  RleBuilder builder(a.h, a.w);
  for_each_piece(a, b, [&](int64_t begin, int64_t end, bool in_a, bool in_b) {
    if (intersect ? in_a && in_b : in_a || in_b) builder.add(begin, end);
  });
  return builder.finish();
}

int64_t intersection(const Rle& a, const Rle& b) {
  int64_t common = 0;
  for_each_piece(a, b, [&](int64_t begin, int64_t end, bool in_a, bool in_b) {
    if (in_a && in_b) common += end - begin;
  });
  return common;
}

// What iou() needs of a mask besides its runs.
struct Extent {
  XYWH box;
  int64_t area;
};

std::vector<Extent> extents_of(const std::vector<const Rle*>& rles) {
  std::vector<Extent> extents;
  extents.reserve(rles.size());
  for (const Rle* rle : rles) extents.push_back({bounding_box(*rle), area(*rle)});
  return extents;
}

}  // namespace

Rle encode(const uint8_t* bitmap, int64_t h, int64_t w) {
  RleBuilder builder(h, w);
  std::vector<uint8_t> tile(static_cast<size_t>(kTile * h));  // column by column
  for (int64_t x0 = 0; x0 < w; x0 += kTile) {
    const int64_t columns = std::min(kTile, w - x0);
    fill_tile(bitmap, h, w, x0, columns, tile);
    for (int64_t x = 0; x < columns; ++x) encode_column(tile.data() + x * h, h, x0 + x, builder);
  }
  return builder.finish();
}

Tensor decode(const Rle& rle) {
  Tensor bitmap = Tensor::zeros({rle.h, rle.w}, DType::kU8);
  if (bitmap.empty()) return bitmap;
  uint8_t* pixels = bitmap.mutable_data<uint8_t>();
  const ColumnSpans columns(rle);
  for (int64_t x = 0; x < rle.w; ++x) {
    columns.for_each(x, [&](Span span) {
      for (int64_t y = span.y0; y < span.y1; ++y) pixels[y * rle.w + x] = 1;
    });
  }
  return bitmap;
}

int64_t area(const Rle& rle) {
  int64_t sum = 0;
  for (size_t i = 1; i < rle.counts.size(); i += 2) sum += rle.counts[i];
  return sum;
}

XYWH bounding_box(const Rle& rle) {
  int64_t x0 = rle.w, y0 = rle.h, x1 = -1, y1 = -1;  // inclusive
  for_each_run(rle, [&](int64_t begin, int64_t end) {
    const int64_t first = begin / rle.h, last = (end - 1) / rle.h;
    const bool spans_columns = first != last;
    x0 = std::min(x0, first);
    x1 = std::max(x1, last);
    y0 = std::min(y0, spans_columns ? 0 : begin % rle.h);
    y1 = std::max(y1, spans_columns ? rle.h - 1 : (end - 1) % rle.h);
  });
  if (x1 < 0) return {};
  return {static_cast<double>(x0), static_cast<double>(y0), static_cast<double>(x1 - x0 + 1),
          static_cast<double>(y1 - y0 + 1)};
}

Rle merge(const std::vector<Rle>& rles, bool intersect) {
  OSPREY_REQUIRE(!rles.empty(), "merge: needs one mask at least");
  Rle merged = rles.front();
  for (size_t i = 1; i < rles.size(); ++i) merged = merge_pair(merged, rles[i], intersect);
  return merged;
}

double iou(const XYWH& dt, const XYWH& gt, bool iscrowd) {
  const double w = std::min(dt[0] + dt[2], gt[0] + gt[2]) - std::max(dt[0], gt[0]);
  const double h = std::min(dt[1] + dt[3], gt[1] + gt[3]) - std::max(dt[1], gt[1]);
  if (w <= 0 || h <= 0) return 0;
  const double common = w * h, dt_area = dt[2] * dt[3];
  return common / (iscrowd ? dt_area : dt_area + gt[2] * gt[3] - common);
}

std::vector<double> iou(const std::vector<const Rle*>& dt, const std::vector<const Rle*>& gt,
                        const std::vector<uint8_t>& iscrowd) {
  OSPREY_REQUIRE(iscrowd.size() == gt.size(), "iou: ", gt.size(), " ground truths, ", iscrowd.size(),
                 " crowd flags");
  const std::vector<Extent> dt_extents = extents_of(dt), gt_extents = extents_of(gt);
  std::vector<double> ious(dt.size() * gt.size(), 0.0);
  for (size_t d = 0; d < dt.size(); ++d) {
    for (size_t g = 0; g < gt.size(); ++g) {
      check_same_size("iou", *dt[d], *gt[g]);
      if (iou(dt_extents[d].box, gt_extents[g].box, false) <= 0) continue;  // the runs cannot meet
      const int64_t common = intersection(*dt[d], *gt[g]);
      const int64_t joined =
          iscrowd[g] ? dt_extents[d].area : dt_extents[d].area + gt_extents[g].area - common;
      if (common > 0) ious[d * gt.size() + g] = static_cast<double>(common) / static_cast<double>(joined);
    }
  }
  return ious;
}

}  // namespace osprey
