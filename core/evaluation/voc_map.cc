#include "core/evaluation/voc_map.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/evaluation/ascii_table.h"
#include "core/evaluation/coco_types.h"
#include "core/evaluation/f32_overlap.h"

namespace osprey {
namespace {

using Box = std::array<float, 4>;
using AreaBounds = std::pair<double, double>;  // [low, high)

struct Detection {
  Box box;
  float score;
};

struct Truth {
  Box box;
  bool ignore;
};

enum class Verdict : uint8_t { kNoAccount, kRight, kWrong };

struct Judged {
  float score;
  Verdict verdict;
};

double area_of(const Box& box) { return (box[2] - box[0]) * (box[3] - box[1]); }
bool inside(const Box& box, const AreaBounds& bounds) {
  return area_of(box) >= bounds.first && area_of(box) < bounds.second;
}

// Calls visit(box, row) for the rows of one class.
template <typename Visit>
void for_each_of_class(const Tensor& bboxes, const Tensor& labels, int64_t label, const Visit& visit) {
  for (int64_t i = 0; i < labels.numel(); ++i) {
    if (labels.data<int64_t>()[i] != label) continue;
    const float* box = bboxes.data<float>() + 4 * i;
    visit(Box{box[0], box[1], box[2], box[3]}, i);
  }
}

std::vector<Detection> detections_of(const MapDetections& image, int64_t label) {
  std::vector<Detection> found;
  for_each_of_class(image.bboxes, image.labels, label, [&](const Box& box, int64_t i) {
    found.push_back({box, image.scores.data<float>()[i]});
  });
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection& a, const Detection& b) { return scores_higher(a.score, b.score); });
  return found;
}

// Ignored ones come last, so that a demanded box wins a tie.
std::vector<Truth> truths_of(const MapAnnotations& image, int64_t label) {
  std::vector<Truth> truths;
  for_each_of_class(image.bboxes, image.labels, label, [&](const Box& box, int64_t) {
    truths.push_back({box, false});
  });
  if (image.labels_ignore.defined()) {
    for_each_of_class(image.bboxes_ignore, image.labels_ignore, label, [&](const Box& box, int64_t) {
      truths.push_back({box, true});
    });
  }
  return truths;
}

// mmdetection's tpfp_default for one image, class and range.
std::vector<Judged> judge(const std::vector<Detection>& detections, const std::vector<Truth>& truths,
                          const AreaBounds& bounds, double iou_thr) {
  std::vector<uint8_t> covered(truths.size(), 0);
  std::vector<Judged> judged;
  for (const Detection& detection : detections) {
    size_t best = 0;
    float best_iou = -1;
    for (size_t g = 0; g < truths.size(); ++g) {
      const float iou = f32_overlap(detection.box.data(), truths[g].box.data());
      if (iou > best_iou) best_iou = iou, best = g;
    }
    Verdict verdict = Verdict::kNoAccount;
    if (best_iou >= 0 && static_cast<double>(best_iou) >= iou_thr) {
      if (!truths[best].ignore && inside(truths[best].box, bounds)) {
        verdict = covered[best] ? Verdict::kWrong : Verdict::kRight;
        covered[best] = 1;
      }
    } else if (inside(detection.box, bounds)) {
      verdict = Verdict::kWrong;
    }
    judged.push_back({detection.score, verdict});
  }
  return judged;
}

double area_under_curve(const std::vector<double>& recall, const std::vector<double>& precision) {
  std::vector<double> envelope = precision;
  for (size_t i = envelope.size(); i-- > 1;) envelope[i - 1] = std::max(envelope[i - 1], envelope[i]);
  double sum = 0, before = 0;
  for (size_t i = 0; i < recall.size(); ++i) {
    sum += (recall[i] - before) * envelope[i];
    before = recall[i];
  }
  return sum;
}

double eleven_point_mean(const std::vector<double>& recall, const std::vector<double>& precision) {
  double sum = 0;
  for (int step = 0; step <= 10; ++step) {
    double best = 0;
    for (size_t i = 0; i < recall.size(); ++i) {
      if (recall[i] >= step * 0.1) best = std::max(best, precision[i]);  // numpy.arange's steps
    }
    sum += best;
  }
  return sum / 11;
}

ClassAp summarise(std::vector<Judged> judged, int64_t num_gts, bool eleven_points) {
  std::stable_sort(judged.begin(), judged.end(),
                   [](const Judged& a, const Judged& b) { return scores_higher(a.score, b.score); });
  constexpr double kEps = std::numeric_limits<float>::epsilon();
  ClassAp result;
  result.num_gts = num_gts;
  result.num_dets = static_cast<int64_t>(judged.size());
  double right = 0, wrong = 0;
  for (const Judged& item : judged) {
    right += item.verdict == Verdict::kRight;
    wrong += item.verdict == Verdict::kWrong;
    result.recall.push_back(right / std::max(static_cast<double>(num_gts), kEps));
    result.precision.push_back(right / std::max(right + wrong, kEps));
  }
  result.ap = (eleven_points ? eleven_point_mean : area_under_curve)(result.recall, result.precision);
  return result;
}

std::vector<AreaBounds> area_bounds(const MapOptions& options) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (options.scale_ranges.empty()) return {{-kInf, kInf}};
  std::vector<AreaBounds> bounds;
  for (const auto& [low, high] : options.scale_ranges) bounds.emplace_back(low * low, high * high);
  return bounds;
}

std::vector<ClassAp> evaluate_class(const std::vector<MapDetections>& detections,
                                    const std::vector<MapAnnotations>& annotations, int64_t label,
                                    const MapOptions& options) {
  const std::vector<AreaBounds> ranges = area_bounds(options);
  std::vector<std::vector<Judged>> judged(ranges.size());
  std::vector<int64_t> num_gts(ranges.size(), 0);
  for (size_t i = 0; i < detections.size(); ++i) {
    const std::vector<Detection> found = detections_of(detections[i], label);
    const std::vector<Truth> truths = truths_of(annotations[i], label);
    for (size_t r = 0; r < ranges.size(); ++r) {
      const std::vector<Judged> image = judge(found, truths, ranges[r], options.iou_thr);
      judged[r].insert(judged[r].end(), image.begin(), image.end());
      num_gts[r] += std::count_if(truths.begin(), truths.end(), [&](const Truth& truth) {
        return !truth.ignore && inside(truth.box, ranges[r]);
      });
    }
  }
  std::vector<ClassAp> results;
  for (size_t r = 0; r < ranges.size(); ++r) {
    results.push_back(summarise(std::move(judged[r]), num_gts[r], options.eleven_points));
  }
  return results;
}

double mean_over_classes(const MapResult& result, size_t range) {
  double sum = 0;
  int64_t count = 0;
  for (const std::vector<ClassAp>& ranges : result.classes) {
    if (ranges[range].num_gts > 0) sum += ranges[range].ap, ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::string three_decimals(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

MapResult eval_map(const std::vector<MapDetections>& detections,
                   const std::vector<MapAnnotations>& annotations, const MapOptions& options) {
  OSPREY_REQUIRE(detections.size() == annotations.size(), "eval_map: ", detections.size(), " results for ",
                 annotations.size(), " images");
  MapResult result;
  result.classes.resize(static_cast<size_t>(options.num_classes));
  parallel_ranges(options.num_classes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t label = begin; label < end; ++label) {
      result.classes[label] = evaluate_class(detections, annotations, label, options);
    }
  });
  for (size_t r = 0; r < area_bounds(options).size(); ++r)
    result.mean_ap.push_back(mean_over_classes(result, r));
  return result;
}

std::string map_table(const MapResult& result, const std::vector<std::string>& class_names,
                      const MapOptions& options) {
  std::string text;
  for (size_t r = 0; r < result.mean_ap.size(); ++r) {
    std::vector<std::string> cells;
    for (size_t c = 0; c < result.classes.size(); ++c) {
      const ClassAp& one = result.classes[c][r];
      const double recall = one.recall.empty() ? 0 : one.recall.back();
      cells.insert(cells.end(), {class_names[c], std::to_string(one.num_gts), std::to_string(one.num_dets),
                                 three_decimals(recall), three_decimals(one.ap)});
    }
    cells.insert(cells.end(), {"mAP", "", "", "", three_decimals(result.mean_ap[r])});
    if (!options.scale_ranges.empty()) {
      text += str_cat("Scale range (", options.scale_ranges[r].first, ", ", options.scale_ranges[r].second,
                      ")\n");
    }
    text += ascii_table({"class", "gts", "dets", "recall", "ap"}, cells);
  }
  return text;
}

}  // namespace osprey
