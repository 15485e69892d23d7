#pragma once

#include <string>

#include "core/detection/batch.h"

namespace osprey {

// A batch as one safetensors file: images and targets as tensors (img, gt_bboxes.0, ...), img_metas and the
// random stream as JSON text in __metadata__["batch"]. What is read is bitwise what was written, on the CPU.
// Both throw UserError naming the file.
void write_batch(const std::string& path, const Batch& batch);
Batch read_batch(const std::string& path);

}  // namespace osprey
