#include "core/mask/polygon.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/mask/rle_spans.h"

namespace osprey {
namespace {

constexpr int64_t kScale = 5;         // grid points per pixel
constexpr int64_t kCentre = 2;        // the grid column of a pixel after which the outline is sampled
constexpr double kFar = 100'000'000;  // pixels; keeps the grid arithmetic within its integers

struct GridPoint {
  int64_t x, y;
};

// Rounds to the grid. Truncation towards zero is COCO's, below zero too.
int64_t to_grid(double pixels) {
  const double bounded = pixels > -kFar ? std::min(pixels, kFar) : -kFar;  // NaN becomes -kFar
  return static_cast<int64_t>(static_cast<double>(kScale) * bounded + .5);
}

// Collects where the outline crosses pixel columns, as column-major positions: the mask flips at each of
// them.
//
// COCO walks every grid point of every edge and keeps the steps between grid columns 5x + 2 and 5x + 3. Here
// those steps are computed directly; the arithmetic of a point is the same, so the result is too.
class CrossingCollector {
 public:
  CrossingCollector(int64_t h, int64_t w) : h_(h), w_(w) {}

  void add_edge(GridPoint from, GridPoint to) {
    const int64_t dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
    const bool flat = dx >= dy;
    if (flat ? from.x > to.x : from.y > to.y) std::swap(from, to);
    if (dx == 0) return;  // never changes its column
    if (flat) {
      add_flat_edge(from, to, dx);
    } else {
      add_steep_edge(from, to, dy);
    }
  }

  std::vector<int64_t> take() { return std::move(crossings_); }

 private:
  // One point for every grid column.
  void add_flat_edge(GridPoint from, GridPoint to, int64_t dx) {
    const double slope = static_cast<double>(to.y - from.y) / static_cast<double>(dx);
    const auto y_at = [&](int64_t grid_x) {
      return static_cast<int64_t>(static_cast<double>(from.y) + slope * static_cast<double>(grid_x - from.x) +
                                  .5);
    };
    for_each_column(from.x, to.x,
                    [&](int64_t x, int64_t grid_x) { add(x, std::min(y_at(grid_x), y_at(grid_x + 1))); });
  }

  // One point for every grid row; the step between two grid columns is found by bisection, since x is
  // monotone along the edge.
  void add_steep_edge(GridPoint from, GridPoint to, int64_t dy) {
    const double slope = static_cast<double>(to.x - from.x) / static_cast<double>(dy);
    const auto x_at = [&](int64_t t) {
      return static_cast<int64_t>(static_cast<double>(from.x) + slope * static_cast<double>(t) + .5);
    };
    for_each_column(std::min(from.x, to.x), std::max(from.x, to.x), [&](int64_t x, int64_t grid_x) {
      const bool starts_right = from.x > grid_x;
      int64_t before = 0, after = dy;  // on either side of the step
      while (after - before > 1) {
        const int64_t middle = (before + after) / 2;
        ((x_at(middle) > grid_x) == starts_right ? before : after) = middle;
      }
      add(x, from.y + before);
    });
  }

  // Pixel columns of the image whose sampling step lies within the grid columns [low, high].
  template <typename Visit>
  void for_each_column(int64_t low, int64_t high, const Visit& visit) const {
    const int64_t first = low <= kCentre ? 0 : (low - kCentre + kScale - 1) / kScale;
    for (int64_t x = first; x < w_; ++x) {
      const int64_t grid_x = x * kScale + kCentre;
      if (grid_x + 1 > high) break;
      visit(x, grid_x);
    }
  }

  void add(int64_t x, int64_t grid_y) {
    const int64_t y = grid_y <= kCentre ? 0 : (grid_y - kCentre + kScale - 1) / kScale;
    crossings_.push_back(x * h_ + std::min(y, h_));
  }

  int64_t h_, w_;
  std::vector<int64_t> crossings_;
};

}  // namespace

Rle rasterize(const Polygon& polygon, int64_t h, int64_t w) {
  OSPREY_REQUIRE(polygon.size() % 2 == 0, "rasterize: a polygon of ", polygon.size(), " numbers");
  CrossingCollector collector(h, w);
  const size_t corners = polygon.size() / 2;
  const auto corner = [&](size_t i) {
    return GridPoint{to_grid(polygon[2 * (i % corners)]), to_grid(polygon[2 * (i % corners) + 1])};
  };
  for (size_t i = 0; i < corners; ++i) collector.add_edge(corner(i), corner(i + 1));

  std::vector<int64_t> crossings = collector.take();
  std::sort(crossings.begin(), crossings.end());
  if (crossings.size() % 2 == 1) crossings.push_back(h * w);
  RleBuilder builder(h, w);
  for (size_t i = 0; i < crossings.size(); i += 2) builder.add(crossings[i], crossings[i + 1]);
  return builder.finish();
}

Rle rasterize(const std::vector<Polygon>& polygons, int64_t h, int64_t w) {
  if (polygons.empty()) return RleBuilder(h, w).finish();
  std::vector<Rle> parts;
  for (const Polygon& polygon : polygons) parts.push_back(rasterize(polygon, h, w));
  return merge(parts);
}

Rle rasterize_box(const XYWH& box, int64_t h, int64_t w) {
  const double x0 = box[0], y0 = box[1], x1 = x0 + box[2], y1 = y0 + box[3];
  return rasterize(Polygon{x0, y0, x0, y1, x1, y1, x1, y0}, h, w);
}

double polygon_area(const Polygon& polygon) {
  const size_t corners = polygon.size() / 2;
  double twice = 0;
  for (size_t i = 0; i < corners; ++i) {
    const size_t next = (i + 1) % corners;
    twice += polygon[2 * i] * polygon[2 * next + 1] - polygon[2 * next] * polygon[2 * i + 1];
  }
  return std::abs(twice) / 2;
}

}  // namespace osprey
