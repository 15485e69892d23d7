#pragma once

#include <string>
#include <vector>

namespace osprey {

// COCO's 80 categories in mmdetection's order, which is the order of their ids.
const std::vector<std::string>& coco_classes();

}  // namespace osprey
