#include "core/data/shape_painter.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

namespace osprey {
namespace {

constexpr float kNoise = 9;  // half width of the sensor noise, in grey levels
constexpr uint8_t kUnlabelled = 255;

// A number in [0, 1) for a lattice point.
float lattice(int x, int y, uint32_t seed) {
  uint32_t h = seed + static_cast<uint32_t>(x) * 0x9E3779B1u + static_cast<uint32_t>(y) * 0x85EBCA77u;
  h = (h ^ (h >> 15)) * 0x2C1B3C6Du;
  h = (h ^ (h >> 12)) * 0x297A2D39u;
  return static_cast<float>((h ^ (h >> 15)) >> 8) * 0x1p-24f;
}

// Value noise: the lattice, interpolated.
float noise(float x, float y, uint32_t seed) {
  const float x0 = std::floor(x), y0 = std::floor(y);
  const int ix = static_cast<int>(x0), iy = static_cast<int>(y0);
  const float fx = x - x0, fy = y - y0;
  const float top = lattice(ix, iy, seed) * (1 - fx) + lattice(ix + 1, iy, seed) * fx;
  const float bottom = lattice(ix, iy + 1, seed) * (1 - fx) + lattice(ix + 1, iy + 1, seed) * fx;
  return top * (1 - fy) + bottom * fy;
}

// Writes the pixels of one texture.
class Brush {
 public:
  Brush(const Texture& texture, const ImgScale& size)
      : texture_(texture),
        cos_(std::cos(texture.angle) / texture.period),
        sin_(std::sin(texture.angle) / texture.period),
        gradient_(texture.period / (2 * static_cast<float>(std::max(size.w, size.h)))) {}

  void operator()(int x, int y, float* pixel) const {
    const float share = mixture(static_cast<float>(x), static_cast<float>(y));
    for (int i = 0; i < 3; ++i) pixel[i] = texture_.a[i] + (texture_.b[i] - texture_.a[i]) * share;
  }

 private:
  // Share of colour b, in [0, 1].
  float mixture(float x, float y) const {
    const float u = x * cos_ + y * sin_ + texture_.phase;
    const float v = y * cos_ - x * sin_ + texture_.phase;
    switch (texture_.kind) {
      case TextureKind::kNoise:
        return noise(u, v, texture_.seed);
      case TextureKind::kStripes:
        return 0.5f + 0.5f * std::sin(2 * static_cast<float>(M_PI) * u);
      case TextureKind::kChecker:
        return (static_cast<int>(std::floor(u)) + static_cast<int>(std::floor(v))) & 1 ? 1.f : 0.f;
      case TextureKind::kGradient:
        return std::clamp(0.5f + u * gradient_, 0.f, 1.f);
    }
    return 0;
  }

  const Texture& texture_;
  float cos_, sin_;  // per period
  float gradient_;
};

// Calls f(x, y) for each pixel of a mask.
template <typename F>
void for_each_pixel(const Rle& mask, F&& f) {
  int64_t at = 0;
  bool inside = false;
  for (const uint32_t run : mask.counts) {
    for (int64_t i = at; inside && i < at + run; ++i)
      f(static_cast<int>(i / mask.h), static_cast<int>(i % mask.h));
    at += run;
    inside = !inside;
  }
}

void paint_shape(const SceneShape& shape, const ImgScale& size, cv::Mat& image) {
  const Brush brush(shape.texture, size);
  for_each_pixel(rasterize(shape.outline, size.h, size.w),
                 [&](int x, int y) { brush(x, y, image.ptr<float>(y) + 3 * x); });
}

void add_noise(cv::Mat& image, CounterRng& rng) {
  for (int y = 0; y < image.rows; ++y) {
    float* row = image.ptr<float>(y);
    for (int i = 0; i < 3 * image.cols; ++i) {
      // The sum of two uniform bytes is close enough to a bell for sensor noise.
      const uint32_t bits = rng.next_u32();
      row[i] += kNoise * (static_cast<float>(bits & 0xFF) + static_cast<float>(bits >> 8 & 0xFF) - 255) / 255;
    }
  }
}

// Marks pixels whose right or lower neighbour has another value, and these neighbours.
void unlabel_edges(cv::Mat& map) {
  const cv::Mat labels = map.clone();
  const auto mark = [&](int y, int x, int ny, int nx) {
    if (labels.at<uint8_t>(y, x) == labels.at<uint8_t>(ny, nx)) return;
    map.at<uint8_t>(y, x) = map.at<uint8_t>(ny, nx) = kUnlabelled;
  };
  for (int y = 0; y < map.rows; ++y) {
    for (int x = 0; x < map.cols; ++x) {
      if (x + 1 < map.cols) mark(y, x, y, x + 1);
      if (y + 1 < map.rows) mark(y, x, y + 1, x);
    }
  }
}

}  // namespace

std::vector<Rle> visible_masks(const ShapeScene& scene) {
  const auto [w, h] = scene.size;
  cv::Mat top(static_cast<int>(h), static_cast<int>(w), CV_8U, cv::Scalar(kUnlabelled));
  std::vector<Rle> masks;
  for (size_t i = 0; i < scene.shapes.size(); ++i) {
    for_each_pixel(rasterize(scene.shapes[i].outline, h, w),
                   [&](int x, int y) { top.at<uint8_t>(y, x) = static_cast<uint8_t>(i); });
  }
  for (size_t i = 0; i < scene.shapes.size(); ++i) {
    const cv::Mat visible = top == static_cast<double>(i);
    masks.push_back(encode(visible.ptr<uint8_t>(), h, w));
  }
  return masks;
}

cv::Mat paint(const ShapeScene& scene, CounterRng& rng) {
  cv::Mat image(static_cast<int>(scene.size.h), static_cast<int>(scene.size.w), CV_32FC3);
  const Brush background(scene.background, scene.size);
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; ++x) background(x, y, image.ptr<float>(y) + 3 * x);
  }
  for (const SceneShape& stroke : scene.clutter) paint_shape(stroke, scene.size, image);
  for (const SceneShape& shape : scene.shapes) paint_shape(shape, scene.size, image);
  cv::GaussianBlur(image, image, cv::Size(3, 3), 0.6);
  add_noise(image, rng);
  image.convertTo(image, CV_8U);
  return image;
}

cv::Mat semantic_map(const ShapeScene& scene, int64_t num_classes) {
  const auto [w, h] = scene.size;
  const int64_t background = num_classes + static_cast<int64_t>(scene.background.kind);
  cv::Mat map(static_cast<int>(h), static_cast<int>(w), CV_8U, cv::Scalar(static_cast<double>(background)));
  for (const SceneShape& shape : scene.shapes) {
    for_each_pixel(rasterize(shape.outline, h, w),
                   [&](int x, int y) { map.at<uint8_t>(y, x) = static_cast<uint8_t>(shape.label); });
  }
  unlabel_edges(map);
  return map;
}

}  // namespace osprey
