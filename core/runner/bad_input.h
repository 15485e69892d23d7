#pragma once

#include <string>

#include "core/detection/detector.h"

namespace osprey {

// "file a.jpg: pixel (x 3, y 5) of channel 0 is nan", "...: box 1 has the coordinate inf": what no loss can
// be computed of; "" when there is nothing.
std::string describe_bad_input(const Batch& batch);

// What may be bad: "file a.jpg: box 1 (10, 20, 10, 40) has no extent", "label 80 of box 1 is none of the
// model's 80 classes". For an iteration that failed.
std::string describe_odd_input(const Batch& batch, const Detector& model);

// "a.jpg, b.jpg".
std::string image_files(const Batch& batch);

}  // namespace osprey
