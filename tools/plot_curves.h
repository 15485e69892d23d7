#pragma once

#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

#include "tools/json_log.h"

namespace osprey {

// A line chart with axes, a grid, a legend and an optional title, 8-bit BGR. Points that are not finite
// interrupt their line. Requires: at least one curve with a finite point.
cv::Mat plot_curves(const std::vector<Curve>& curves, const std::string& title);

}  // namespace osprey
