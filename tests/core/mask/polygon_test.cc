#include "core/mask/polygon.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

// pycocotools' walk over every grid point, written plainly: the oracle of the direct computation.
Rle rasterize_by_walking(const Polygon& polygon, int64_t h, int64_t w) {
  const size_t k = polygon.size() / 2;
  std::vector<int64_t> u, v, positions;
  for (size_t j = 0; j < k; ++j) {
    const auto grid = [&](size_t i) { return static_cast<int64_t>(5 * polygon[i] + .5); };
    const size_t n = (j + 1) % k;
    int64_t xs = grid(2 * j), ys = grid(2 * j + 1), xe = grid(2 * n), ye = grid(2 * n + 1);
    const int64_t dx = std::abs(xe - xs), dy = std::abs(ye - ys), length = std::max(dx, dy);
    const bool flip = (dx >= dy && xs > xe) || (dx < dy && ys > ye);
    if (flip) std::swap(xs, xe), std::swap(ys, ye);
    const double s =
        length == 0 ? 0 : static_cast<double>(dx >= dy ? ye - ys : xe - xs) / static_cast<double>(length);
    for (int64_t d = 0; d <= length; ++d) {
      const int64_t t = flip ? length - d : d;
      const auto step = [&](int64_t start) {
        return static_cast<int64_t>(static_cast<double>(start) + s * static_cast<double>(t) + .5);
      };
      u.push_back(dx >= dy ? t + xs : step(xs));
      v.push_back(dx >= dy ? step(ys) : t + ys);
    }
  }
  for (size_t j = 1; j < u.size(); ++j) {
    if (u[j] == u[j - 1]) continue;
    const double x = (static_cast<double>(std::min(u[j], u[j - 1])) + .5) / 5 - .5;
    if (std::floor(x) != x || x < 0 || x > static_cast<double>(w - 1)) continue;
    const double y = (static_cast<double>(std::min(v[j], v[j - 1])) + .5) / 5 - .5;
    positions.push_back(static_cast<int64_t>(x) * h +
                        static_cast<int64_t>(std::ceil(std::clamp(y, 0.0, static_cast<double>(h)))));
  }
  std::sort(positions.begin(), positions.end());
  std::vector<uint8_t> bitmap(static_cast<size_t>(h * w));
  bool inside = false;
  for (int64_t p = 0, next = 0; p < h * w; ++p) {
    while (next < static_cast<int64_t>(positions.size()) && positions[next] == p) inside = !inside, ++next;
    bitmap[(p % h) * w + p / h] = inside;
  }
  return encode(bitmap.data(), h, w);
}

TEST(PolygonTest, RasterisesAsTheReference) {
  const Golden golden = Golden::open("ops/masks");
  const auto file = Golden::open("ops/masks_rle").json();
  const auto& json = file["polygons"];
  const int64_t h = file["size"][0], w = file["size"][1];
  for (size_t i = 0; i < json.size(); ++i) {
    SCOPED_TRACE(json[i]["name"].get<std::string>());
    const auto polygons = json[i]["polygons"].get<std::vector<Polygon>>();
    const Rle rle = rasterize(polygons, h, w);
    EXPECT_EQ(to_string(rle), json[i]["counts_string"].get<std::string>());
    EXPECT_EQ(rle.counts, json[i]["counts"].get<std::vector<uint32_t>>());
    const auto row = static_cast<int64_t>(i);
    EXPECT_TENSOR_EQ(decode(rle), golden.tensor("polygons/bitmaps")[row]);
    EXPECT_EQ(area(rle), golden.tensor("polygons/area").data<int64_t>()[row]);
    const XYWH box = bounding_box(rle);
    EXPECT_TENSOR_EQ(Tensor::from(std::vector<double>(box.begin(), box.end()), {4}),
                     golden.tensor("polygons/bbox")[row]);
    for (size_t part = 0; part < polygons.size(); ++part) {
      EXPECT_EQ(to_string(rasterize(polygons[part], h, w)),
                json[i]["parts"][part]["counts_string"].get<std::string>());
    }
  }
}

TEST(PolygonTest, BoxesRasteriseAsTheReference) {
  const auto file = Golden::open("ops/masks_rle").json();
  for (const auto& entry : file["boxes_as_masks"]) {
    const Rle rle = rasterize_box(entry["bbox"].get<XYWH>(), file["size"][0], file["size"][1]);
    EXPECT_EQ(to_string(rle), entry["counts_string"].get<std::string>()) << entry["bbox"].dump();
  }
}

TEST(PolygonTest, AreasMatchTheReference) {
  const Tensor expected = Golden::open("ops/masks").tensor("polygon_areas/poly_area");
  const auto json = Golden::open("ops/masks_rle").json()["polygons"];
  std::vector<double> areas;
  for (const auto& entry : json) {
    double sum = 0;
    for (const auto& polygon : entry["polygons"]) sum += polygon_area(polygon.get<Polygon>());
    areas.push_back(sum);
  }
  EXPECT_TENSOR_NEAR(Tensor::from(areas, {-1}), expected, 1e-4, 1e-6);
}

TEST(PolygonTest, AgreesWithTheWalkOverEveryGridPoint) {
  CounterRng rng(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t h = 1 + rng.randint(40), w = 1 + rng.randint(40);
    const double reach = trial % 3 == 0 ? 100 : 5;  // far outside, or near the border
    Polygon polygon;
    for (int64_t corners = 1 + rng.randint(9); corners > 0; --corners) {
      const double snap = trial % 2 == 0 ? 0.1 : 0.5;  // ties on the grid, too
      polygon.push_back(std::round(rng.uniform(-reach, static_cast<double>(w) + reach) / snap) * snap);
      polygon.push_back(std::round(rng.uniform(-reach, static_cast<double>(h) + reach) / snap) * snap);
    }
    ASSERT_EQ(rasterize(polygon, h, w), rasterize_by_walking(polygon, h, w))
        << "h " << h << ", w " << w << ", polygon " << join(polygon);
  }
}

TEST(PolygonTest, HostileCoordinatesAreCheap) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto start = std::chrono::steady_clock::now();
  rasterize(Polygon{-1e300, 5, 1e300, 6, 1e300, 1e300}, 37, 43);
  rasterize(Polygon{-inf, -inf, inf, nan, nan, 3}, 37, 43);
  rasterize(Polygon{}, 37, 43);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(area(rasterize(std::vector<Polygon>{}, 37, 43)), 0);
}

}  // namespace
}  // namespace osprey
