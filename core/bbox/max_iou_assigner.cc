#include "core/bbox/max_iou_assigner.h"

#include <algorithm>
#include <limits>

#include "core/base/parallel.h"
#include "core/bbox/box_columns.h"
#include "core/bbox/max_iou_kernel.h"

namespace osprey {

DeviceKernel<void(MaxIoUArgs&)> max_iou_assign_kernel("MaxIoUAssigner");

namespace {

constexpr int64_t kTile = 1024;  // boxes; a tile's coordinates and overlaps stay in the first-level cache
constexpr float kEps = kIoUEps, kNone = kNoOverlap;

int64_t tiles_of(int64_t n) { return (n + kTile - 1) / kTile; }

// Calls body(tile, begin, end) for every tile of [0, n), in parallel.
template <typename Body>
void for_each_tile(int64_t n, const Body& body) {
  parallel_ranges(tiles_of(n), 1, [&](int64_t from, int64_t to) {
    for (int64_t tile = from; tile < to; ++tile) {
      body(tile, tile * kTile, std::min((tile + 1) * kTile, n));
    }
  });
}

float largest(const float* values, int64_t count) {
  float best = kNone;
#pragma omp simd reduction(max : best)
  for (int64_t j = 0; j < count; ++j) best = values[j] > best ? values[j] : best;
  return best;
}

Tensor labels_of(const Tensor& gt_inds, const Tensor& gt_labels) {
  const Tensor classes = gt_labels.to(kCPU).to(DType::kI64);
  Tensor labels(gt_inds.shape(), DType::kI64);
  const int64_t* gt = gt_inds.data<int64_t>();
  int64_t* label = labels.mutable_data<int64_t>();
  for (int64_t i = 0; i < gt_inds.numel(); ++i)
    label[i] = gt[i] > 0 ? classes.data<int64_t>()[gt[i] - 1] : -1;
  return labels;
}

}  // namespace

// The (k, n) overlap matrix, computed row piece by row piece when asked, and its maxima.
struct MaxIoUAssigner::Overlaps {
  BoxColumns gts, boxes;
  std::vector<uint8_t> ignored;     // n, or empty when none is
  std::vector<float> tile_best;     // (k, tiles): best overlap of a ground truth within a tile
  std::vector<float> gt_best;       // k
  std::vector<int32_t> box_argmax;  // n: first of equals

  void row(int64_t gt, int64_t begin, int64_t end, float* out) const {
    overlap_row(gts, gt, boxes, begin, end, OverlapMode::kIoU, kEps, out);
    for (int64_t j = begin; j < end && !ignored.empty(); ++j) {
      if (ignored[j]) out[j - begin] = -1;
    }
  }

  // Fills the maxima; those of the boxes go to `box_best` (n).
  void find_maxima(float* box_best) {
    const int64_t k = gts.size(), n = boxes.size(), tiles = tiles_of(n);
    tile_best.resize(k * tiles);
    box_argmax.resize(n);
    for_each_tile(n, [&](int64_t tile, int64_t begin, int64_t end) {
      float overlap[kTile];
      float* best = box_best + begin;
      int32_t* argmax = box_argmax.data() + begin;
      std::fill(best, best + (end - begin), kNone);
      for (int64_t gt = 0; gt < k; ++gt) {
        row(gt, begin, end, overlap);
        tile_best[gt * tiles + tile] = largest(overlap, end - begin);
        const int32_t index = static_cast<int32_t>(gt);
#pragma omp simd
        for (int64_t j = 0; j < end - begin; ++j) {
          argmax[j] = overlap[j] > best[j] ? index : argmax[j];
          best[j] = overlap[j] > best[j] ? overlap[j] : best[j];
        }
      }
    });
    for (int64_t gt = 0; gt < k; ++gt) gt_best.push_back(largest(&tile_best[gt * tiles], tiles));
  }
};

MaxIoUAssigner::MaxIoUAssigner(const ConfigNode& cfg)
    : pos_iou_thr_(static_cast<float>(cfg.get<double>("pos_iou_thr", between(0, 1)))),
      min_pos_iou_(static_cast<float>(cfg.get("min_pos_iou", 0.0, between(0, 1)))),
      ignore_iof_thr_(static_cast<float>(cfg.get("ignore_iof_thr", -1.0, between(-1, 1)))),
      gt_max_assign_all_(cfg.get("gt_max_assign_all", true)),
      ignore_wrt_candidates_(cfg.get("ignore_wrt_candidates", true)),
      match_low_quality_(cfg.get("match_low_quality", true)) {
  const ConfigNode neg = cfg["neg_iou_thr"];
  if (neg.is_list()) {
    const auto range = neg.as<std::vector<double>>(between(0, 1));
    if (range.size() != 2) neg.fail("must be a number or a pair [low, high]");
    neg_iou_low_ = static_cast<float>(range[0]);
    neg_iou_high_ = static_cast<float>(range[1]);
  } else {
    neg_iou_high_ = static_cast<float>(neg.as<double>(between(0, 1)));
  }
  cfg.get("gpu_assign_thr", -1.0);
  const ConfigNode calculator = cfg.find("iou_calculator");
  if (!calculator.is_null()) calculator.choice("type", "BboxOverlaps2D", {"BboxOverlaps2D"});
}

AssignResult MaxIoUAssigner::assign(const Tensor& bboxes, const Tensor& gt_bboxes,
                                    const Tensor& gt_bboxes_ignore, const Tensor& gt_labels) const {
  const int64_t n = bboxes.dim(0), k = gt_bboxes.dim(0);
  OSPREY_REQUIRE(!gt_labels.defined() || gt_labels.numel() == k, "MaxIoUAssigner: ", k, " gt_bboxes, but ",
                 gt_labels.numel(), " gt_labels");
  if (bboxes.device().is_cuda()) return assign_on_device(bboxes, gt_bboxes, gt_bboxes_ignore, gt_labels);
  const int64_t background = k == 0 ? 0 : -1;
  AssignResult result{k,
                      Tensor::full({n}, static_cast<double>(background), DType::kI64),
                      Tensor::zeros({n}, DType::kF32),
                      {}};
  if (k > 0 && n > 0) {
    Overlaps overlaps{BoxColumns(gt_bboxes), BoxColumns(bboxes), {}, {}, {}, {}};
    overlaps.ignored = find_ignored(overlaps.boxes, gt_bboxes_ignore);
    overlaps.find_maxima(result.max_overlaps.mutable_data<float>());
    assign_by_threshold(overlaps, result);
    if (match_low_quality_) assign_low_quality(overlaps, result);
  }
  if (gt_labels.defined()) result.labels = labels_of(result.gt_inds, gt_labels);
  return result;
}

AssignResult MaxIoUAssigner::assign_on_device(const Tensor& bboxes, const Tensor& gt_bboxes,
                                              const Tensor& gt_bboxes_ignore, const Tensor& gt_labels) const {
  const Device device = bboxes.device();
  const int64_t n = bboxes.dim(0), k = gt_bboxes.dim(0);
  const auto boxes_there = [&](const Tensor& boxes) {
    OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) == 4, "boxes must be (n, 4), got ",
                   to_string(boxes.shape()));
    return boxes.to(device).to(DType::kF32);
  };
  const bool labelled = gt_labels.defined();
  AssignResult result{k, Tensor({n}, DType::kI64, device), Tensor({n}, DType::kF32, device),
                      labelled ? Tensor({n}, DType::kI64, device) : Tensor()};
  if (k == 0) {
    result.gt_inds.fill(0);
    result.max_overlaps.fill(0);
    if (labelled) result.labels.fill(-1);
    return result;
  }
  const bool may_ignore = ignore_iof_thr_ > 0 && gt_bboxes_ignore.defined() && !gt_bboxes_ignore.empty();
  MaxIoUArgs args{{pos_iou_thr_, neg_iou_low_, neg_iou_high_, min_pos_iou_, ignore_iof_thr_,
                   gt_max_assign_all_, ignore_wrt_candidates_, match_low_quality_},
                  boxes_there(bboxes),
                  boxes_there(gt_bboxes),
                  may_ignore ? boxes_there(gt_bboxes_ignore) : Tensor(),
                  labelled ? gt_labels.to(DType::kI64).to(device) : Tensor(),
                  result.gt_inds,
                  result.max_overlaps,
                  result.labels};
  if (n > 0) max_iou_assign_kernel(device, args);
  return result;
}

// Empty when no box is ignored.
std::vector<uint8_t> MaxIoUAssigner::find_ignored(const BoxColumns& boxes,
                                                  const Tensor& gt_bboxes_ignore) const {
  if (!(ignore_iof_thr_ > 0) || !gt_bboxes_ignore.defined() || gt_bboxes_ignore.empty()) return {};
  const BoxColumns regions(gt_bboxes_ignore);
  std::vector<uint8_t> ignored(boxes.size(), 0);
  const int64_t m = regions.size();
  for_each_tile(boxes.size(), [&](int64_t, int64_t begin, int64_t end) {
    std::vector<float> share(ignore_wrt_candidates_ ? m : end - begin);
    for (int64_t j = begin; j < end && ignore_wrt_candidates_; ++j) {  // parts of the box's area
      overlap_row(boxes, j, regions, 0, m, OverlapMode::kIoF, kEps, share.data());
      ignored[j] = largest(share.data(), m) > ignore_iof_thr_;
    }
    for (int64_t region = 0; region < m && !ignore_wrt_candidates_; ++region) {  // of the region's area
      overlap_row(regions, region, boxes, begin, end, OverlapMode::kIoF, kEps, share.data());
      for (int64_t j = begin; j < end; ++j) ignored[j] |= share[j - begin] > ignore_iof_thr_;
    }
  });
  return ignored;
}

void MaxIoUAssigner::assign_by_threshold(const Overlaps& overlaps, AssignResult& result) const {
  float* best = result.max_overlaps.mutable_data<float>();
  int64_t* gt_inds = result.gt_inds.mutable_data<int64_t>();
  for (int64_t i = 0; i < overlaps.boxes.size(); ++i) {
    if (best[i] >= neg_iou_low_ && best[i] < neg_iou_high_) gt_inds[i] = 0;
    if (best[i] >= pos_iou_thr_) gt_inds[i] = overlaps.box_argmax[i] + 1;
    if (best[i] == kNone) best[i] = std::numeric_limits<float>::quiet_NaN();
  }
}

// A ground truth's best boxes are found by computing again the tiles that hold its best overlap: equal inputs
// give equal bits.
void MaxIoUAssigner::assign_low_quality(const Overlaps& overlaps, AssignResult& result) const {
  const int64_t k = overlaps.gts.size(), n = overlaps.boxes.size(), tiles = tiles_of(n);
  int64_t* gt_inds = result.gt_inds.mutable_data<int64_t>();
  for_each_tile(n, [&](int64_t tile, int64_t begin, int64_t end) {
    float overlap[kTile];
    for (int64_t gt = 0; gt < k; ++gt) {
      const float best = overlaps.gt_best[gt];
      const float* by_tile = &overlaps.tile_best[gt * tiles];
      if (!(best >= min_pos_iou_) || by_tile[tile] != best) continue;
      if (!gt_max_assign_all_ && std::find(by_tile, by_tile + tile, best) != by_tile + tile) continue;
      overlaps.row(gt, begin, end, overlap);
      for (int64_t j = begin; j < end; ++j) {
        if (overlap[j - begin] != best) continue;
        gt_inds[j] = gt + 1;
        if (!gt_max_assign_all_) break;
      }
    }
  });
}

OSPREY_REGISTER(BBoxAssigner, MaxIoUAssigner);

}  // namespace osprey
