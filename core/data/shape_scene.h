#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/data/pipelines/img_scale.h"
#include "core/mask/polygon.h"

namespace osprey {

using Color = std::array<float, 3>;  // BGR, 0 to 255

enum class TextureKind { kNoise, kStripes, kChecker, kGradient };
// "noise", "stripes", "checker", "gradient", in the order of the enum.
const std::vector<std::string>& texture_names();

// Two colours mixed by a pattern.
struct Texture {
  TextureKind kind = TextureKind::kNoise;
  Color a{}, b{};
  float period = 8;   // pixels
  float angle = 0;    // radians
  float phase = 0;    // in periods
  uint32_t seed = 0;  // of the noise
};

struct SceneShape {
  int64_t label = 0;  // index into the classes of the scene
  Polygon outline;
  Texture texture;
};

// What an image of ShapesDataset shows. Shapes are painted in order: later ones cover earlier ones.
struct ShapeScene {
  ImgScale size;
  Texture background;
  std::vector<SceneShape> shapes;
  std::vector<SceneShape> clutter;  // thin strokes between background and shapes; no annotation
};

struct SceneOptions {
  std::vector<std::string> classes;  // of shape_names()
  int64_t min_shapes = 1, max_shapes = 4;
};

// Every class that a scene can show: circle, cross, square, star, triangle.
const std::vector<std::string>& shape_names();

// Draws a scene. Every shape stays at least 60 % visible.
ShapeScene make_scene(const SceneOptions& options, const ImgScale& size, CounterRng& rng);

}  // namespace osprey
