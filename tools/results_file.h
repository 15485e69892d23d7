#pragma once

#include <string>
#include <vector>

#include "core/detection/result.h"

namespace osprey {

// Writes the results of a test run, image by image in the dataset's order, as JSON (mmdetection's `--out` is
// a pickle): [{"bboxes": [[x1, y1, x2, y2, score], ...], "labels": [...], "masks": [{"size": [h, w],
// "counts": RLE},
// ...]}, ...], `masks` only from detectors that have them. Whole or not at all.
void write_results(const std::string& path, const std::vector<DetectionResult>& results);

// What write_results wrote. Throws UserError, naming the file, for anything else.
std::vector<DetectionResult> read_results(const std::string& path);

}  // namespace osprey
