#pragma once

#include <string>
#include <vector>

#include "core/data/coco_file.h"
#include "core/data/dataset.h"

namespace osprey {

// What the results of a dataset are measured against.
struct CocoReference {
  const CocoFile* file = nullptr;  // not owned
  std::vector<size_t> images;      // positions in file->images; results[i] belongs to images[i]
  std::vector<std::string> classes;
  std::vector<int64_t> category_of_label;  // category ids; -1 for a class that the file does not have
};

// COCO metrics as mmdetection computes and names them; also writes the results to options.jsonfile_prefix
// when it is not empty.
EvalReport evaluate_coco(const CocoReference& reference, const std::vector<DetectionResult>& results,
                         const EvalOptions& options);

// prefix.bbox.json, and prefix.segm.json when the results have masks.
void write_coco_results(const CocoReference& reference, const std::vector<DetectionResult>& results,
                        const std::string& prefix);

}  // namespace osprey
