#include "core/evaluation/coco_eval.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/evaluation/coco_matcher.h"

namespace osprey {

// What accumulation needs of one (image, category) in all area ranges; two bits per detection and threshold.
struct ImageOutcome {
  static constexpr uint8_t kMatched = 1, kIgnored = 2;
  bool present = false;  // the image has ground truth or detections of the category
  std::vector<double> scores;
  std::vector<int64_t> num_positives;       // (area)
  std::vector<std::vector<uint8_t>> flags;  // (area), each row-major (threshold, detection)
};

namespace {

// Annotations and detections by category, then by image.
class Groups {
 public:
  Groups(const CocoEvalParams& params, const std::vector<CocoGroundTruth>& ground_truths,
         const std::vector<CocoDetection>& detections)
      : num_images_(params.image_ids.size()), cells_(num_images_ * params.category_ids.size()) {
    std::unordered_map<int64_t, size_t> image_index, category_index;
    for (size_t i = 0; i < num_images_; ++i) image_index.emplace(params.image_ids[i], i);
    for (size_t k = 0; k < params.category_ids.size(); ++k) category_index.emplace(params.category_ids[k], k);
    const auto cell_of = [&](const auto& item) -> Cell* {
      const auto image = image_index.find(item.image_id);
      const auto category = category_index.find(item.category_id);
      if (image == image_index.end() || category == category_index.end()) return nullptr;
      return &cells_[category->second * num_images_ + image->second];
    };
    for (const CocoGroundTruth& gt : ground_truths) {
      if (Cell* cell = cell_of(gt)) cell->gts.push_back(&gt);
    }
    for (const CocoDetection& dt : detections) {
      if (Cell* cell = cell_of(dt)) cell->dts.push_back(&dt);
    }
  }

  struct Cell {
    std::vector<const CocoGroundTruth*> gts;
    std::vector<const CocoDetection*> dts;
  };
  const Cell& cell(size_t category, size_t image) const { return cells_[category * num_images_ + image]; }

  // Everything of an image, category by category: the order in which COCOeval breaks ties without categories.
  Cell all_of(size_t image) const {
    Cell joined;
    for (size_t i = image; i < cells_.size(); i += num_images_) {
      joined.gts.insert(joined.gts.end(), cells_[i].gts.begin(), cells_[i].gts.end());
      joined.dts.insert(joined.dts.end(), cells_[i].dts.begin(), cells_[i].dts.end());
    }
    return joined;
  }

 private:
  size_t num_images_;
  std::vector<Cell> cells_;
};

ImageOutcome evaluate_image(const CocoEvalParams& params, const Groups::Cell& cell) {
  ImageOutcome outcome;
  if (cell.gts.empty() && cell.dts.empty()) return outcome;
  const CocoMatcher matcher(cell.gts, cell.dts, params.iou_type, params.max_dets.back());
  outcome.present = true;
  for (const CocoDetection* dt : matcher.detections()) outcome.scores.push_back(dt->score);
  for (const AreaRange& range : params.area_ranges) {
    const CocoMatcher::Matches matches = matcher.match(range, params.iou_thrs);
    outcome.num_positives.push_back(matches.num_positives);
    std::vector<uint8_t> flags(matches.gt.size());
    for (size_t i = 0; i < flags.size(); ++i) {
      const bool matched = matches.gt[i] >= 0 && matcher.ground_truths()[matches.gt[i]]->id != 0;
      flags[i] = static_cast<uint8_t>((matched ? ImageOutcome::kMatched : 0) |
                                      (matches.ignored[i] ? ImageOutcome::kIgnored : 0));
    }
    outcome.flags.push_back(std::move(flags));
  }
  return outcome;
}

// Runs body(i) for 0 <= i < n; the threads draw the tasks one by one, because a category like "person" costs
// as much as all others together.
template <typename Body>
void parallel_tasks(int64_t n, const Body& body) {
  std::atomic<int64_t> next{0};
  parallel_ranges(num_threads(), 1, [&](int64_t, int64_t) {
    for (int64_t i = next++; i < n; i = next++) body(i);
  });
}

// One detection of a category, by its place in its image's list.
struct Ranked {
  double score;
  uint32_t image, rank;
};

// All detections of a category, best first; ties keep the order of images and ranks.
std::vector<Ranked> rank_detections(const std::vector<ImageOutcome>& outcomes) {
  std::vector<Ranked> ranked;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    for (size_t rank = 0; rank < outcomes[i].scores.size(); ++rank) {
      ranked.push_back({outcomes[i].scores[rank], static_cast<uint32_t>(i), static_cast<uint32_t>(rank)});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return scores_higher(a.score, b.score); });
  return ranked;
}

struct Curve {
  std::vector<double> recall, precision;
};

// After each detection; an ignored one repeats the point before it.
Curve precision_recall(const std::vector<ImageOutcome>& outcomes, const std::vector<Ranked>& ranked, size_t a,
                       size_t t, int64_t num_positives) {
  Curve curve;
  double tp = 0, fp = 0;
  for (const Ranked& item : ranked) {
    const ImageOutcome& outcome = outcomes[item.image];
    const uint8_t flags = outcome.flags[a][t * outcome.scores.size() + item.rank];
    if (!(flags & ImageOutcome::kIgnored)) (flags & ImageOutcome::kMatched ? tp : fp) += 1;
    curve.recall.push_back(tp / static_cast<double>(num_positives));
    curve.precision.push_back(tp / (fp + tp + std::numeric_limits<double>::epsilon()));
  }
  for (size_t i = curve.precision.size(); i-- > 1;) {  // the envelope from the right
    curve.precision[i - 1] = std::max(curve.precision[i - 1], curve.precision[i]);
  }
  return curve;
}

}  // namespace

CocoEval::CocoEval(CocoEvalParams params, const std::vector<CocoGroundTruth>& ground_truths,
                   const std::vector<CocoDetection>& detections)
    : params_(std::move(params)), num_categories_(params_.use_cats ? params_.category_ids.size() : 1) {
  OSPREY_REQUIRE(
      !params_.max_dets.empty() && std::is_sorted(params_.max_dets.begin(), params_.max_dets.end()),
      "COCO evaluation: max_dets must be ascending, got [", join(params_.max_dets), "]");
  const size_t curves = num_categories_ * params_.area_ranges.size() * params_.max_dets.size();
  recall_.assign(curves * params_.iou_thrs.size(), -1);
  precision_.assign(recall_.size() * params_.rec_thrs.size(), -1);

  const Groups groups(params_, ground_truths, detections);
  const size_t num_images = params_.image_ids.size();
  std::vector<std::vector<ImageOutcome>> outcomes(num_categories_, std::vector<ImageOutcome>(num_images));
  const auto cells = static_cast<int64_t>(num_categories_ * num_images);
  parallel_tasks(cells, [&](int64_t cell) {
    const size_t k = static_cast<size_t>(cell) / num_images, i = static_cast<size_t>(cell) % num_images;
    outcomes[k][i] = evaluate_image(params_, params_.use_cats ? groups.cell(k, i) : groups.all_of(i));
  });
  const size_t areas = params_.area_ranges.size();
  parallel_tasks(static_cast<int64_t>(num_categories_ * areas), [&](int64_t task) {
    accumulate(static_cast<size_t>(task) / areas, static_cast<size_t>(task) % areas,
               outcomes[static_cast<size_t>(task) / areas]);
  });
}

void CocoEval::accumulate(size_t k, size_t a, const std::vector<ImageOutcome>& outcomes) {
  int64_t num_positives = 0;
  for (const ImageOutcome& outcome : outcomes) {
    if (outcome.present) num_positives += outcome.num_positives[a];
  }
  if (num_positives == 0) return;
  const std::vector<Ranked> all = rank_detections(outcomes);
  for (size_t m = 0; m < params_.max_dets.size(); ++m) {
    std::vector<Ranked> kept;
    std::copy_if(all.begin(), all.end(), std::back_inserter(kept),
                 [&](const Ranked& item) { return item.rank < params_.max_dets[m]; });
    for (size_t t = 0; t < params_.iou_thrs.size(); ++t) {
      const Curve curve = precision_recall(outcomes, kept, a, t, num_positives);
      const size_t row =
          ((k * params_.area_ranges.size() + a) * params_.max_dets.size() + m) * params_.iou_thrs.size() + t;
      recall_[row] = curve.recall.empty() ? 0 : curve.recall.back();
      size_t at = 0;  // the first point that reaches the recall; recall never falls
      for (size_t r = 0; r < params_.rec_thrs.size(); ++r) {
        while (at < curve.recall.size() && curve.recall[at] < params_.rec_thrs[r]) ++at;
        precision_[row * params_.rec_thrs.size() + r] = at < curve.recall.size() ? curve.precision[at] : 0;
      }
    }
  }
}

template <typename Visit>
double CocoEval::mean_over(const Cells& cells, const Visit& visit) const {
  double sum = 0;
  int64_t count = 0;
  const auto add = [&](double value) {
    if (value > -1) sum += value, ++count;
  };
  for (size_t a = 0; a < params_.area_ranges.size(); ++a) {
    if (params_.area_ranges[a].name != cells.area) continue;
    for (size_t m = 0; m < params_.max_dets.size(); ++m) {
      if (params_.max_dets[m] != cells.max_dets) continue;
      for (size_t t = 0; t < params_.iou_thrs.size(); ++t) {
        if (cells.iou_thr && params_.iou_thrs[t] != *cells.iou_thr) continue;
        for (size_t k = 0; k < num_categories_; ++k) {
          if (!cells.category || k == *cells.category) visit(t, k, a, m, add);
        }
      }
    }
  }
  return count == 0 ? -1 : sum / static_cast<double>(count);
}

double CocoEval::average_precision(const Cells& cells) const {
  return mean_over(cells, [&](size_t t, size_t k, size_t a, size_t m, const auto& add) {
    for (size_t r = 0; r < params_.rec_thrs.size(); ++r) add(precision(t, r, k, a, m));
  });
}

double CocoEval::average_recall(const Cells& cells) const {
  return mean_over(cells,
                   [&](size_t t, size_t k, size_t a, size_t m, const auto& add) { add(recall(t, k, a, m)); });
}

}  // namespace osprey
