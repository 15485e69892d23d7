#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace osprey {

// An object of an annotation file of PASCAL VOC.
struct VocObject {
  std::string name;
  bool difficult = false;
  std::array<double, 4> bbox{};  // xmin, ymin, xmax, ymax, as in the file: the first pixel is 1
};

struct VocAnnotation {
  int64_t w = 0, h = 0;  // 0 when the file does not say
  std::vector<VocObject> objects;
};

// Reads <annotation> with <size> and <object>s. Throws UserError, with file and line, for broken XML, and for
// an object without a name or a box.
VocAnnotation read_voc_annotation(const std::string& path);

}  // namespace osprey
