#include "core/data/pipelines/image_io.h"

#include <cstring>
#include <fstream>
#include <opencv2/imgcodecs.hpp>

#include "core/data/sample.h"

namespace osprey {
namespace {

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) throw SampleError(path, str_cat("cannot be opened (", std::strerror(errno), ")"));
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (!file) throw SampleError(path, "cannot be read");
  return bytes;
}

bool is_jpeg(const std::vector<uint8_t>& bytes) {
  return bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
}

// Position of the next 0xFF of a real marker at or after `at`: stuffed zeros, fill bytes and restart markers
// belong to the entropy-coded data. bytes.size() when there is none.
size_t next_marker(const std::vector<uint8_t>& bytes, size_t at) {
  while (at + 1 < bytes.size()) {
    const void* found = std::memchr(bytes.data() + at, 0xFF, bytes.size() - 1 - at);
    if (!found) return bytes.size();
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes.data());
    const uint8_t code = bytes[at + 1];
    if (code != 0x00 && code != 0xFF && !(code >= 0xD0 && code <= 0xD7)) return at;
    ++at;
  }
  return bytes.size();
}

}  // namespace

bool is_complete_jpeg(const std::vector<uint8_t>& bytes) {
  constexpr uint8_t kEndOfImage = 0xD9, kTemporary = 0x01;
  if (!is_jpeg(bytes)) return false;
  size_t at = 2;
  while ((at = next_marker(bytes, at)) + 1 < bytes.size()) {
    const uint8_t code = bytes[at + 1];
    if (code == kEndOfImage) return true;
    at += 2;
    if (code == kTemporary) continue;
    if (at + 1 >= bytes.size()) return false;
    at += static_cast<size_t>(bytes[at]) << 8 | bytes[at + 1];  // the segment's length counts itself
  }
  return false;
}

cv::Mat read_image(const std::string& path, int imread_flags) {
  const std::vector<uint8_t> bytes = read_file(path);
  if (bytes.empty()) throw SampleError(path, "is empty");
  if (is_jpeg(bytes) && !is_complete_jpeg(bytes)) {
    throw SampleError(path, str_cat("truncated JPEG: it ends after ", bytes.size(),
                                    " bytes without an end-of-image marker"));
  }
  cv::Mat image;
  try {
    image = cv::imdecode(bytes, imread_flags);
  } catch (const cv::Exception& problem) {
    throw SampleError(path, str_cat("cannot be decoded (", problem.err, ")"));
  }
  if (image.empty()) throw SampleError(path, "cannot be decoded: it is no image, or a broken one");
  return image;
}

}  // namespace osprey
