#include "core/data/pipelines/img_scale.h"

#include <algorithm>

namespace osprey {
namespace {

ImgScale read_pair(const ConfigNode& node) {
  const auto sides = node.as<std::vector<int64_t>>();
  if (sides.size() != 2 || sides[0] <= 0 || sides[1] <= 0) {
    node.fail("an image scale is two positive numbers of pixels, e.g. [1333, 800]");
  }
  return {sides[0], sides[1]};
}

}  // namespace

std::vector<ImgScale> read_img_scales(const ConfigNode& node) {
  if (!node.is_list() || node.size() == 0) {
    node.fail("must be one scale, e.g. [1333, 800], or a list of scales, e.g. [[1333, 640], [1333, 800]]");
  }
  if (!node.at(0).is_list()) return {read_pair(node)};
  std::vector<ImgScale> scales;
  for (const ConfigNode& item : node.items()) scales.push_back(read_pair(item));
  return scales;
}

ImgScale rescale_size(int64_t w, int64_t h, double factor) {
  return {static_cast<int64_t>(static_cast<double>(w) * factor + 0.5),
          static_cast<int64_t>(static_cast<double>(h) * factor + 0.5)};
}

ImgScale rescale_size(int64_t w, int64_t h, const ImgScale& scale) {
  const auto [short_limit, long_limit] = std::minmax(scale.w, scale.h);
  const auto [short_side, long_side] = std::minmax(w, h);
  return rescale_size(w, h,
                      std::min(static_cast<double>(long_limit) / static_cast<double>(long_side),
                               static_cast<double>(short_limit) / static_cast<double>(short_side)));
}

}  // namespace osprey
