#pragma once

#include <opencv2/core/mat.hpp>
#include <vector>

#include "core/data/shape_scene.h"
#include "core/mask/rle.h"

namespace osprey {

// The visible pixels of each shape.
std::vector<Rle> visible_masks(const ShapeScene& scene);

// The image, u8 BGR: textures, slightly blurred, with sensor noise drawn from `rng`.
cv::Mat paint(const ShapeScene& scene, CounterRng& rng);

// u8: the label of the visible shape, num_classes + texture kind on the background, 255 within a pixel of an
// edge between them, where the image is mixed.
cv::Mat semantic_map(const ShapeScene& scene, int64_t num_classes);

}  // namespace osprey
