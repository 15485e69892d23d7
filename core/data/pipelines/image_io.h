#pragma once

#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <string>
#include <vector>

namespace osprey {

// Reads and decodes an image file with cv::imdecode and the given cv::IMREAD_ flags. A truncated JPEG, which
// OpenCV would fill up with grey, is an error. Throws SampleError naming the file.
cv::Mat read_image(const std::string& path, int imread_flags);

// Whether a JPEG stream runs to its end-of-image marker. Walks the marker segments (ITU-T T.81, B.1.1), so
// that the end marker of an embedded thumbnail does not count.
bool is_complete_jpeg(const std::vector<uint8_t>& bytes);

}  // namespace osprey
