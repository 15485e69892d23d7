#include "core/mask/instance_mask.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/mask/rle_spans.h"

namespace osprey {
namespace {

// For each source row r in [0, old_size], the first row of the resized mask that reads row r or a later one.
// OpenCV's nearest neighbour: source = floor(target * (1 / (new / old))), in double.
std::vector<int64_t> first_targets(int64_t old_size, int64_t new_size) {
  const double step = 1.0 / (static_cast<double>(new_size) / static_cast<double>(old_size));
  std::vector<int64_t> first(static_cast<size_t>(old_size) + 1, new_size);
  for (int64_t target = new_size - 1; target >= 0; --target) {
    const auto source = static_cast<int64_t>(std::floor(static_cast<double>(target) * step));
    first[std::min(source, old_size - 1)] = target;
  }
  for (int64_t r = old_size - 1; r >= 0; --r) first[r] = std::min(first[r], first[r + 1]);
  return first;
}

Rle resize_rle(const Rle& rle, int64_t new_h, int64_t new_w) {
  RleBuilder builder(new_h, new_w);
  if (rle.h == 0 || rle.w == 0) return builder.finish();
  const std::vector<int64_t> first_x = first_targets(rle.w, new_w), first_y = first_targets(rle.h, new_h);
  const ColumnSpans columns(rle);
  for (int64_t source = 0; source < rle.w; ++source) {
    for (int64_t x = first_x[source]; x < first_x[source + 1]; ++x) {
      columns.for_each(source, [&](Span s) { builder.add_span(x, {first_y[s.y0], first_y[s.y1]}); });
    }
  }
  return builder.finish();
}

Rle flip_rle_horizontal(const Rle& rle) {
  RleBuilder builder(rle.h, rle.w);
  const ColumnSpans columns(rle);
  for (int64_t x = 0; x < rle.w; ++x) {
    columns.for_each(rle.w - 1 - x, [&](Span span) { builder.add_span(x, span); });
  }
  return builder.finish();
}

Rle flip_rle_vertical(const Rle& rle) {
  RleBuilder builder(rle.h, rle.w);
  const ColumnSpans columns(rle);
  for (int64_t x = 0; x < rle.w; ++x) {
    for (size_t i = columns.begin[x + 1]; i-- > columns.begin[x];) {
      const Span span = columns.spans[i];
      builder.add_span(x, {rle.h - span.y1, rle.h - span.y0});
    }
  }
  return builder.finish();
}

// The window of new_h x new_w pixels at (x0, y0); what lies outside the mask is 0.
Rle window(const Rle& rle, int64_t x0, int64_t y0, int64_t new_h, int64_t new_w) {
  RleBuilder builder(new_h, new_w);
  const ColumnSpans columns(rle);
  for (int64_t x = 0; x < std::min(new_w, rle.w - x0); ++x) {
    columns.for_each(x0 + x, [&](Span span) {
      builder.add_span(x, {std::max<int64_t>(span.y0 - y0, 0), std::min(span.y1 - y0, new_h)});
    });
  }
  return builder.finish();
}

Rle expand_rle(const Rle& rle, int64_t new_h, int64_t new_w, int64_t top, int64_t left) {
  RleBuilder builder(new_h, new_w);
  const ColumnSpans columns(rle);
  for (int64_t x = 0; x < rle.w; ++x) {
    columns.for_each(x, [&](Span span) { builder.add_span(left + x, {span.y0 + top, span.y1 + top}); });
  }
  return builder.finish();
}

// Applies (x, y) -> (fx(x), fy(y)) to every corner.
template <typename MapX, typename MapY>
std::vector<Polygon> map_corners(std::vector<Polygon> polygons, const MapX& fx, const MapY& fy) {
  for (Polygon& polygon : polygons) {
    for (size_t i = 0; i + 1 < polygon.size(); i += 2) {
      polygon[i] = fx(polygon[i]);
      polygon[i + 1] = fy(polygon[i + 1]);
    }
  }
  return polygons;
}

constexpr auto kSame = [](double v) { return v; };

}  // namespace

InstanceMask from_rle(Rle rle) {
  InstanceMask mask;
  mask.h = rle.h;
  mask.w = rle.w;
  mask.rle = std::move(rle);
  return mask;
}

InstanceMask from_bitmap(const uint8_t* bitmap, int64_t h, int64_t w) {
  return from_rle(encode(bitmap, h, w));
}

InstanceMask from_polygons(std::vector<Polygon> polygons, int64_t h, int64_t w) {
  OSPREY_REQUIRE(!polygons.empty(), "from_polygons: needs one polygon at least");
  return {h, w, std::move(polygons), {}};
}

InstanceMask resize(const InstanceMask& mask, int64_t new_h, int64_t new_w) {
  if (!mask.is_polygon()) return from_rle(resize_rle(mask.rle, new_h, new_w));
  const double h_scale = static_cast<double>(new_h) / static_cast<double>(mask.h);
  const double w_scale = static_cast<double>(new_w) / static_cast<double>(mask.w);
  return from_polygons(
      map_corners(
          mask.polygons, [=](double x) { return x * w_scale; }, [=](double y) { return y * h_scale; }),
      new_h, new_w);
}

InstanceMask flip_horizontal(const InstanceMask& mask) {
  if (!mask.is_polygon()) return from_rle(flip_rle_horizontal(mask.rle));
  const auto width = static_cast<double>(mask.w);
  return from_polygons(map_corners(
                           mask.polygons, [=](double x) { return width - x; }, kSame),
                       mask.h, mask.w);
}

InstanceMask flip_vertical(const InstanceMask& mask) {
  if (!mask.is_polygon()) return from_rle(flip_rle_vertical(mask.rle));
  const auto height = static_cast<double>(mask.h);
  return from_polygons(map_corners(mask.polygons, kSame, [=](double y) { return height - y; }), mask.h,
                       mask.w);
}

InstanceMask pad(const InstanceMask& mask, int64_t new_h, int64_t new_w) {
  OSPREY_REQUIRE(new_h >= mask.h && new_w >= mask.w, "pad: a mask of ", mask.h, " x ", mask.w, " to ", new_h,
                 " x ", new_w);
  if (!mask.is_polygon()) return from_rle(window(mask.rle, 0, 0, new_h, new_w));
  return from_polygons(mask.polygons, new_h, new_w);
}

InstanceMask expand(const InstanceMask& mask, int64_t new_h, int64_t new_w, int64_t top, int64_t left) {
  OSPREY_REQUIRE(top >= 0 && left >= 0 && top + mask.h <= new_h && left + mask.w <= new_w,
                 "expand: a mask of ", mask.h, " x ", mask.w, " at ", top, ", ", left, " of ", new_h, " x ",
                 new_w);
  if (!mask.is_polygon()) return from_rle(expand_rle(mask.rle, new_h, new_w, top, left));
  const auto dx = static_cast<double>(left), dy = static_cast<double>(top);
  return from_polygons(map_corners(
                           mask.polygons, [=](double x) { return x + dx; }, [=](double y) { return y + dy; }),
                       new_h, new_w);
}

InstanceMask crop(const InstanceMask& mask, int64_t x1, int64_t y1, int64_t x2, int64_t y2) {
  x1 = std::clamp<int64_t>(x1, 0, mask.w);
  x2 = std::clamp<int64_t>(x2, 0, mask.w);
  y1 = std::clamp<int64_t>(y1, 0, mask.h);
  y2 = std::clamp<int64_t>(y2, 0, mask.h);
  const int64_t new_w = std::max<int64_t>(x2 - x1, 1), new_h = std::max<int64_t>(y2 - y1, 1);
  if (!mask.is_polygon()) return from_rle(window(mask.rle, x1, y1, new_h, new_w));
  const auto left = static_cast<double>(x1), top = static_cast<double>(y1);
  return from_polygons(
      map_corners(
          mask.polygons, [=](double x) { return x - left; }, [=](double y) { return y - top; }),
      new_h, new_w);
}

Rle to_rle(const InstanceMask& mask) {
  if (mask.is_polygon()) return rasterize(mask.polygons, mask.h, mask.w);
  return mask.rle;
}

Tensor to_bitmap(const InstanceMask& mask) { return decode(to_rle(mask)); }

double area(const InstanceMask& mask) {
  if (!mask.is_polygon()) return static_cast<double>(area(mask.rle));
  double sum = 0;
  for (const Polygon& polygon : mask.polygons) sum += polygon_area(polygon);
  return sum;
}

}  // namespace osprey
