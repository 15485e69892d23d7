#pragma once

#include <cstdint>
#include <limits>

#include "core/ops/nms.h"
#include "core/ops/nms_boxes.h"
#include "core/tensor/device_kernel.h"

// Greedy suppression on a device: boxes by descending score, a bit for each pair that overlaps too much, and
// one sweep over the rows of bits.
namespace osprey {

struct NmsArgs {
  Tensor boxes, scores, idxs;  // f32 (n, 4), f32 (n), i64 (n)
  bool suppress;               // false: only sorts
  bool shift_classes;          // class c moves by c * (max coordinate + 1)
  bool within_classes;         // compares no boxes of two classes
  float iou_threshold, offset;
  float score_threshold;  // only scores > this take part, when it is > -inf
  int64_t max_num;        // keeps at most, when > 0
};
// CUDA only. n > 0; `out` arrives with its shapes.
extern DeviceKernel<void(const NmsArgs& args, PendingNms& out)> nms_kernel;

constexpr int64_t kNmsWord = 64;  // boxes to a word of bits

// Chunk j takes elements j, j + chunks, ...; NaN never wins.
struct MaxChunk {
  const float* values;
  int64_t n, chunks;
  float* out;
  OSPREY_HD void operator()(int64_t chunk) const {
    float best = -std::numeric_limits<float>::infinity();
    for (int64_t i = chunk; i < n; i += chunks) best = values[i] > best ? values[i] : best;
    out[chunk] = best;
  }
};

struct RankedBoxes {
  const float* ranked;     // (n, 5): x1, y1, x2, y2, area, by descending score, moved by their class
  const int64_t* classes;  // (n)
  int64_t n;
  OSPREY_HD NmsBox operator[](int64_t i) const {
    const float* box = ranked + 5 * i;
    return {box[0], box[1], box[2], box[3], box[4]};
  }
};

struct RankBox {
  const float *boxes, *scores;
  const int64_t *idxs, *order;
  const float* largest;  // coordinate, or null: classes stay in place
  float offset, score_threshold;
  float* ranked;
  int64_t* classes;
  uint8_t* out_of_play;
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t row = order[i];
    const float shift = largest == nullptr ? 0 : static_cast<float>(idxs[row]) * (*largest + 1);
    float xyxy[4];
    for (int k = 0; k < 4; ++k) xyxy[k] = boxes[4 * row + k] + shift;
    const NmsBox box(xyxy, offset);
    float* to = ranked + 5 * i;
    to[0] = box.x1;
    to[1] = box.y1;
    to[2] = box.x2;
    to[3] = box.y2;
    to[4] = box.area;
    classes[i] = idxs[row];
    const bool bounded = score_threshold > -std::numeric_limits<float>::infinity();
    out_of_play[i] = bounded && !(scores[row] > score_threshold);
  }
};

// Bit j of word (i, w): box i, when it is kept, suppresses box 64 w + j.
struct SuppressionWord {
  RankedBoxes boxes;
  int64_t words;
  float iou_threshold, offset;
  bool within_classes;
  uint64_t* bits;  // (n, words)
  OSPREY_HD void operator()(int64_t index) const {
    const int64_t i = index / words, word = index - i * words;
    const int64_t first = word * kNmsWord, last = first + kNmsWord < boxes.n ? first + kNmsWord : boxes.n;
    uint64_t result = 0;
    const NmsBox box = boxes[i];
    for (int64_t j = i < first ? first : i + 1; j < last; ++j) {
      if (within_classes && boxes.classes[j] != boxes.classes[i]) continue;
      if (nms_iou(boxes[j], box, offset) > iou_threshold) result |= uint64_t{1} << (j - first);
    }
    bits[index] = result;
  }
};

// Walks the boxes in order; suppressed says who is out already.
struct Sweep {
  const uint64_t* bits;        // (n, words), or null: nobody suppresses
  const uint8_t* out_of_play;  // (n)
  const int64_t* order;        // (n): row of each box
  int64_t n, words, max_num;
  int64_t* keep;   // (n)
  int64_t* count;  // (1)

  // The boxes of `word` that were out before the sweep.
  OSPREY_HD uint64_t absent(int64_t word) const {
    uint64_t bits_of_word = 0;
    for (int64_t j = 0; j < kNmsWord && word * kNmsWord + j < n; ++j) {
      if (out_of_play[word * kNmsWord + j] != 0) bits_of_word |= uint64_t{1} << j;
    }
    return bits_of_word;
  }
  // Keeps what `suppressed` leaves of a word's boxes, `diagonal` being their bits for each other; appends to
  // keep and returns whom it kept.
  OSPREY_HD uint64_t keep_within(int64_t word, uint64_t suppressed, const uint64_t* diagonal,
                                 int64_t& kept_so_far) const {
    uint64_t kept = 0;
    for (int64_t j = 0; j < kNmsWord && word * kNmsWord + j < n; ++j) {
      if (full(kept_so_far)) break;
      if (suppressed >> j & 1) continue;
      kept |= uint64_t{1} << j;
      suppressed |= diagonal[j];
      keep[kept_so_far++] = order[word * kNmsWord + j];
    }
    return kept;
  }
  OSPREY_HD bool full(int64_t kept_so_far) const { return max_num > 0 && kept_so_far >= max_num; }
  OSPREY_HD uint64_t bits_at(int64_t i, int64_t word) const {
    return bits == nullptr || i >= n ? 0 : bits[i * words + word];
  }
};

struct WriteDets {
  const float *boxes, *scores;
  const int64_t* count;
  int64_t* keep;
  float* dets;  // (n, 5)
  OSPREY_HD void operator()(int64_t i) const {
    float* det = dets + 5 * i;
    if (i >= *count) {
      for (int k = 0; k < 5; ++k) det[k] = 0;
      keep[i] = 0;
      return;
    }
    for (int k = 0; k < 4; ++k) det[k] = boxes[4 * keep[i] + k];
    det[4] = scores[keep[i]];
  }
};

}  // namespace osprey
