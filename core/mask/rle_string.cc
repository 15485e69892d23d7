
#include "core/base/error.h"
#include "core/mask/rle.h"

// COCO's text form of run lengths: a variant of LEB128 with 6 bits per character, offset 48: five bits of the
// number, least significant first, and a continuation bit; the last group carries the sign. From the fourth
// run on, the number is the difference to the run two before, because neighbouring columns are alike.
namespace osprey {
namespace {

constexpr int kOffset = 48;
constexpr int kContinue = 0x20;
constexpr int kSign = 0x10;
constexpr int kMaxGroups = 7;  // 35 bits hold any difference of two u32

void append(std::string& text, int64_t value) {
  bool more = true;
  while (more) {
    int group = static_cast<int>(value & 0x1f);
    value >>= 5;
    more = (group & kSign) ? value != -1 : value != 0;
    if (more) group |= kContinue;
    text.push_back(static_cast<char>(group + kOffset));
  }
}

// Reads one number at `position` and moves past it.
int64_t parse(const std::string& text, size_t& position) {
  int64_t value = 0;
  for (int groups = 0; groups < kMaxGroups; ++groups) {
    if (position == text.size()) throw UserError("RLE: the counts string breaks off within a number");
    const int group = static_cast<unsigned char>(text[position]) - kOffset;
    if (group < 0 || group > 0x3f) {
      throw UserError(str_cat("RLE: the counts string has an invalid character at position ", position));
    }
    ++position;
    value |= static_cast<int64_t>(group & 0x1f) << (5 * groups);
    if (group & kContinue) continue;
    if (group & kSign) value |= -(int64_t{1} << (5 * (groups + 1)));
    return value;
  }
  throw UserError("RLE: a number of the counts string is too long");
}

}  // namespace

std::string to_string(const Rle& rle) {
  std::string text;
  for (size_t i = 0; i < rle.counts.size(); ++i) {
    const int64_t before = i > 2 ? rle.counts[i - 2] : 0;
    append(text, static_cast<int64_t>(rle.counts[i]) - before);
  }
  return text;
}

Rle rle_from_string(const std::string& text, int64_t h, int64_t w) {
  std::vector<int64_t> counts;
  for (size_t position = 0; position < text.size();) {
    const int64_t before = counts.size() > 2 ? counts[counts.size() - 2] : 0;
    counts.push_back(before + parse(text, position));
  }
  return rle_from_counts(counts, h, w);
}

Rle rle_from_counts(const std::vector<int64_t>& counts, int64_t h, int64_t w) {
  if (h < 0 || w < 0 || (w > 0 && h > UINT32_MAX / w)) {
    throw UserError(str_cat("RLE: impossible size ", h, " x ", w));
  }
  Rle rle{h, w, {}};
  int64_t total = 0;
  for (const int64_t count : counts) {
    if (count < 0 || count > h * w - total) {
      throw UserError(str_cat("RLE: the counts do not fit a mask of ", h, " x ", w));
    }
    total += count;
    rle.counts.push_back(static_cast<uint32_t>(count));
  }
  if (total != h * w) {
    throw UserError(
        str_cat("RLE: the counts cover ", total, " of the ", h * w, " pixels of a ", h, " x ", w, " mask"));
  }
  return rle;
}

}  // namespace osprey
