#pragma once

#include <vector>

#include "core/config/config.h"
#include "core/data/sample.h"

namespace osprey {

// Reads `img_scale`: [1333, 800] is one scale, [[1333, 640], [1333, 800]] are several. Throws UserError.
std::vector<ImgScale> read_img_scales(const ConfigNode& node);

// The largest size with the aspect ratio of w x h whose long side fits the larger number of `scale` and whose
// short side the smaller one. Rounds as mmcv.rescale_size: int(side * factor + 0.5) in double.
ImgScale rescale_size(int64_t w, int64_t h, const ImgScale& scale);
// Both sides by one factor.
ImgScale rescale_size(int64_t w, int64_t h, double factor);

}  // namespace osprey
