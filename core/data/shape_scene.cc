#include "core/data/shape_scene.h"

#include <algorithm>
#include <cmath>

namespace osprey {
namespace {

constexpr double kMinVisible = 0.6;
constexpr int kPlacements = 30;                         // tries before a shape is given up
constexpr double kMinRadius = 0.14, kMaxRadius = 0.26;  // of the shorter side
constexpr float kMinContrast = 70;  // between mean colours of shape and background, in grey levels

struct Point {
  double x, y;
};

// Corners of each shape around (0, 0), within a radius of 1.
std::vector<Point> unit_outline(const std::string& name) {
  const auto ring = [](int corners, double inner) {
    std::vector<Point> points;
    for (int i = 0; i < corners; ++i) {
      const double angle = 2 * M_PI * i / corners;
      const double radius = i % 2 ? inner : 1.0;
      points.push_back({radius * std::cos(angle), radius * std::sin(angle)});
    }
    return points;
  };
  if (name == "circle") return ring(40, 1.0);
  if (name == "square") return ring(4, 1.0);
  if (name == "triangle") return {{1, 0}, {-0.5, 0.866}, {-0.5, -0.866}};
  if (name == "star") return ring(10, 0.45);
  const double t = 0.3;  // half the width of the cross's arms
  return {{1, -t}, {1, t},   {t, t},   {t, 1},   {-t, 1}, {-t, t},
          {-1, t}, {-1, -t}, {-t, -t}, {-t, -1}, {t, -1}, {t, -t}};
}

Polygon place(const std::vector<Point>& unit, Point centre, double radius, double angle) {
  const double c = radius * std::cos(angle), s = radius * std::sin(angle);
  Polygon outline;
  for (const Point& point : unit) {
    outline.push_back(centre.x + c * point.x - s * point.y);
    outline.push_back(centre.y + s * point.x + c * point.y);
  }
  return outline;
}

Color random_color(CounterRng& rng) {
  Color color;
  for (float& channel : color) channel = static_cast<float>(rng.uniform(20, 235));
  return color;
}

Color varied(const Color& color, double amount, CounterRng& rng) {
  Color out;
  for (int i = 0; i < 3; ++i) {
    out[i] = std::clamp(color[i] + static_cast<float>(rng.uniform(-amount, amount)), 0.f, 255.f);
  }
  return out;
}

float distance(const Color& a, const Color& b) {
  float sum = 0;
  for (int i = 0; i < 3; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

Texture random_texture(const Color& base, CounterRng& rng) {
  Texture texture;
  texture.kind = static_cast<TextureKind>(rng.randint(static_cast<int64_t>(texture_names().size())));
  texture.a = varied(base, 35, rng);
  texture.b = varied(base, 35, rng);
  texture.period = static_cast<float>(rng.uniform(6, 20));
  texture.angle = static_cast<float>(rng.uniform(0, M_PI));
  texture.phase = static_cast<float>(rng.uniform(0, 1));
  texture.seed = rng.next_u32();
  return texture;
}

Color contrasting_color(const Color& background, CounterRng& rng) {
  Color color = random_color(rng);
  while (distance(color, background) < kMinContrast) color = random_color(rng);
  return color;
}

// A thin bar anywhere in the image.
SceneShape random_stroke(const ImgScale& size, CounterRng& rng) {
  const Point centre{rng.uniform(0, static_cast<double>(size.w)),
                     rng.uniform(0, static_cast<double>(size.h))};
  const double length = rng.uniform(0.1, 0.3) * static_cast<double>(std::min(size.w, size.h));
  const double half_width = rng.uniform(0.5, 1.5) / length;
  SceneShape stroke;
  stroke.label = -1;
  stroke.outline = place({{1, -half_width}, {1, half_width}, {-1, half_width}, {-1, -half_width}}, centre,
                         length, rng.uniform(0, M_PI));
  stroke.texture = random_texture(random_color(rng), rng);
  return stroke;
}

Polygon random_placement(const std::vector<Point>& unit, const ImgScale& size, CounterRng& rng) {
  const double radius = rng.uniform(kMinRadius, kMaxRadius) * static_cast<double>(std::min(size.w, size.h));
  const double margin = 0.6 * radius;  // shapes may leave the image a little
  const Point centre{rng.uniform(margin, static_cast<double>(size.w) - margin),
                     rng.uniform(margin, static_cast<double>(size.h) - margin)};
  return place(unit, centre, radius, rng.uniform(0, 2 * M_PI));
}

// Whether every shape under `top` stays visible enough, `top` itself included where the image cuts it.
bool leaves_all_visible(const std::vector<SceneShape>& shapes, const Polygon& top, const ImgScale& size) {
  const Rle cover = rasterize(top, size.h, size.w);
  if (static_cast<double>(area(cover)) < kMinVisible * polygon_area(top)) return false;
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<Rle> covers = {cover};
    for (size_t k = i + 1; k < shapes.size(); ++k)
      covers.push_back(rasterize(shapes[k].outline, size.h, size.w));
    const Rle whole = rasterize(shapes[i].outline, size.h, size.w);
    const Rle hidden = merge({whole, merge(covers)}, /*intersect=*/true);
    const double visible = static_cast<double>(area(whole) - area(hidden));
    if (visible < kMinVisible * polygon_area(shapes[i].outline)) return false;
  }
  return true;
}

}  // namespace

const std::vector<std::string>& texture_names() {
  static const std::vector<std::string> names = {"noise", "stripes", "checker", "gradient"};
  return names;
}

const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names = {"circle", "cross", "square", "star", "triangle"};
  return names;
}

ShapeScene make_scene(const SceneOptions& options, const ImgScale& size, CounterRng& rng) {
  ShapeScene scene;
  scene.size = size;
  const Color background = random_color(rng);
  scene.background = random_texture(background, rng);
  for (int64_t i = rng.randint(4); i > 0; --i) scene.clutter.push_back(random_stroke(size, rng));
  const int64_t count = options.min_shapes + rng.randint(options.max_shapes - options.min_shapes + 1);
  for (int64_t i = 0; i < count; ++i) {
    SceneShape shape;
    shape.label = rng.randint(static_cast<int64_t>(options.classes.size()));
    shape.texture = random_texture(contrasting_color(background, rng), rng);
    const std::vector<Point> unit = unit_outline(options.classes[shape.label]);
    for (int attempt = 0; attempt < kPlacements; ++attempt) {
      shape.outline = random_placement(unit, size, rng);
      if (!leaves_all_visible(scene.shapes, shape.outline, size)) continue;
      scene.shapes.push_back(shape);
      break;
    }
  }
  return scene;
}

}  // namespace osprey
