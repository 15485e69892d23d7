#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/evaluation/coco_metrics.h"
#include "core/io/atomic_file.h"

namespace osprey {
namespace {

constexpr size_t kFlushBytes = 1 << 20;

// The shortest text that reads back as the same double, as Python's json writes it.
void append(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// The only character of the compressed form that JSON escapes is the backslash.
void append_rle(std::string& text, const Rle& rle) {
  text += str_cat(",\"segmentation\":{\"size\":[", rle.h, ",", rle.w, "],\"counts\":\"");
  for (const char c : to_string(rle)) {
    if (c == '\\') text += '\\';
    text += c;
  }
  text += "\"}";
}

void append_detection(std::string& text, const CocoDetection& dt, bool with_masks) {
  text += str_cat("{\"image_id\":", dt.image_id, ",\"bbox\":[");
  for (size_t i = 0; i < 4; ++i) {
    if (i > 0) text += ',';
    append(text, dt.bbox[i]);
  }
  text += "],\"score\":";
  append(text, dt.score);
  text += str_cat(",\"category_id\":", dt.category_id);
  if (with_masks) append_rle(text, *dt.segmentation);
  text += '}';
}

bool is_finite(const CocoDetection& dt) {
  return std::isfinite(dt.score) &&
         std::all_of(dt.bbox.begin(), dt.bbox.end(), [](double v) { return std::isfinite(v); });
}

}  // namespace

void write_coco_json(const std::string& path, const std::vector<CocoDetection>& detections, bool with_masks) {
  AtomicFile file(path);
  std::string text = "[";
  bool first = true;
  int64_t left_out = 0;
  for (const CocoDetection& dt : detections) {
    OSPREY_REQUIRE(!with_masks || dt.segmentation, "write_coco_json: ", path, ": a detection has no mask");
    if (!is_finite(dt)) {
      ++left_out;
      continue;
    }
    if (!first) text += ",\n";
    first = false;
    append_detection(text, dt, with_masks);
    if (text.size() > kFlushBytes) {
      file.write(text);
      text.clear();
    }
  }
  file.write(text + "]\n");
  file.commit();
  if (left_out > 0) log_warning(str_cat(path, ": ", left_out, " detections with NaN or inf were left out"));
}

}  // namespace osprey
