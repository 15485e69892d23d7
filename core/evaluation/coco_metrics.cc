#include "core/evaluation/coco_metrics.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/logging.h"
#include "core/evaluation/ascii_table.h"
#include "core/evaluation/coco_eval.h"
#include "core/evaluation/proposal_recall.h"

namespace osprey {
namespace {

const std::vector<std::string> kMetrics = {"bbox", "segm", "proposal", "proposal_fast"};

// mmdetection's names of COCOeval.stats, fixed to its default proposal_nums whatever they are.
const std::vector<std::string> kItems = {"mAP",     "mAP_50",    "mAP_75",    "mAP_s",
                                         "mAP_m",   "mAP_l",     "AR@100",    "AR@300",
                                         "AR@1000", "AR_s@1000", "AR_m@1000", "AR_l@1000"};

std::string three_decimals(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

double rounded(double value) { return std::strtod(three_decimals(value).c_str(), nullptr); }

size_t item_index(const std::string& item) {
  const auto found = std::find(kItems.begin(), kItems.end(), item);
  if (found == kItems.end()) {
    throw UserError(str_cat("evaluation: unknown metric_items entry '", item, "'; allowed: ", join(kItems)));
  }
  return static_cast<size_t>(found - kItems.begin());
}

CocoEvalParams make_params(const CocoReferenceData& reference, const EvalOptions& options,
                           const std::string& metric) {
  CocoEvalParams params;
  params.iou_type = metric == "segm" ? IouType::kSegm : IouType::kBbox;
  params.image_ids = reference.image_ids;
  params.category_ids = reference.category_ids;
  // COCOeval walks both in ascending order, which decides ties.
  std::sort(params.image_ids.begin(), params.image_ids.end());
  std::sort(params.category_ids.begin(), params.category_ids.end());
  params.max_dets = options.proposal_nums;
  if (!options.iou_thrs.empty()) params.iou_thrs = options.iou_thrs;
  params.use_cats = metric != "proposal";
  return params;
}

// AP of each class over all thresholds at the last max_dets, in the order of the dataset's classes.
std::string classwise_table(const CocoReferenceData& reference, const CocoEval& eval) {
  std::vector<std::string> cells;
  const std::vector<int64_t>& ids = eval.params().category_ids;
  for (size_t i = 0; i < reference.category_ids.size(); ++i) {
    const auto k = std::lower_bound(ids.begin(), ids.end(), reference.category_ids[i]) - ids.begin();
    const double ap = eval.average_precision({std::nullopt, k, "all", eval.params().max_dets.back()});
    cells.push_back(reference.category_names[i]);
    cells.push_back(ap < 0 ? "nan" : three_decimals(ap));
  }
  const size_t pairs = std::min<size_t>(3, reference.category_ids.size());
  std::vector<std::string> header;
  for (size_t i = 0; i < pairs; ++i) header.insert(header.end(), {"category", "AP"});
  return ascii_table(header, cells);
}

void add_precision(const std::string& metric, const EvalOptions& options, const CocoEval& eval,
                   EvalReport& report) {
  const auto stats = eval.stats();
  const std::vector<std::string> defaults(kItems.begin(), kItems.begin() + 6);
  for (const std::string& item : options.metric_items.empty() ? defaults : options.metric_items) {
    report.metrics.emplace_back(metric + "_" + item, rounded(stats[item_index(item)]));
  }
  std::vector<std::string> first_six;
  for (size_t i = 0; i < 6; ++i) first_six.push_back(three_decimals(stats[i]));
  report.texts.emplace_back(metric + "_mAP_copypaste", join(first_six, " "));
}

void add_recall(const EvalOptions& options, const CocoEval& eval, EvalReport& report) {
  const auto stats = eval.stats();
  const std::vector<std::string> defaults(kItems.begin() + 6, kItems.end());
  for (const std::string& item : options.metric_items.empty() ? defaults : options.metric_items) {
    report.metrics.emplace_back(item, rounded(stats[item_index(item)]));
  }
}

Tensor boxes_xyxy(const std::vector<XYWH>& boxes) {
  Tensor tensor({static_cast<int64_t>(boxes.size()), 4}, DType::kF32);
  for (size_t i = 0; i < boxes.size(); ++i) {
    float* out = tensor.mutable_data<float>() + 4 * i;
    out[0] = static_cast<float>(boxes[i][0]);
    out[1] = static_cast<float>(boxes[i][1]);
    out[2] = static_cast<float>(boxes[i][0] + boxes[i][2]);
    out[3] = static_cast<float>(boxes[i][1] + boxes[i][3]);
  }
  return tensor;
}

std::vector<ProposalImage> proposal_images(const CocoReferenceData& reference,
                                           const std::vector<CocoDetection>& detections) {
  std::unordered_map<int64_t, size_t> index;
  for (size_t i = 0; i < reference.image_ids.size(); ++i) index.emplace(reference.image_ids[i], i);
  std::vector<std::vector<XYWH>> gts(reference.image_ids.size()), proposals(reference.image_ids.size());
  std::vector<std::vector<float>> scores(reference.image_ids.size());
  for (const CocoGroundTruth& gt : reference.annotations) {
    const auto image = index.find(gt.image_id);
    if (image != index.end() && !gt.iscrowd) gts[image->second].push_back(gt.bbox);
  }
  for (const CocoDetection& dt : detections) {
    const auto image = index.find(dt.image_id);
    if (image == index.end()) continue;
    proposals[image->second].push_back(dt.bbox);
    scores[image->second].push_back(static_cast<float>(dt.score));
  }
  std::vector<ProposalImage> images;
  for (size_t i = 0; i < gts.size(); ++i) {
    images.push_back({boxes_xyxy(gts[i]), boxes_xyxy(proposals[i]), Tensor::from(scores[i], {-1})});
  }
  return images;
}

void add_fast_recall(const CocoReferenceData& reference, const std::vector<CocoDetection>& detections,
                     const EvalOptions& options, EvalReport& report) {
  const std::vector<double> iou_thrs =
      options.iou_thrs.empty() ? CocoEvalParams().iou_thrs : options.iou_thrs;
  const auto recalls =
      proposal_recalls(proposal_images(reference, detections), options.proposal_nums, iou_thrs);
  for (size_t i = 0; i < recalls.size(); ++i) {
    const double ar =
        std::accumulate(recalls[i].begin(), recalls[i].end(), 0.0) / static_cast<double>(iou_thrs.size());
    report.metrics.emplace_back(str_cat("AR@", options.proposal_nums[i]), ar);
    char line[64];
    std::snprintf(line, sizeof line, "AR@%lld\t%.4f\n", static_cast<long long>(options.proposal_nums[i]), ar);
    report.table += line;
  }
}

}  // namespace

void check_coco_options(const EvalOptions& options) {
  for (const std::string& metric : options.metrics) {
    if (std::find(kMetrics.begin(), kMetrics.end(), metric) != kMetrics.end()) continue;
    const std::string meant = nearest_match(metric, kMetrics);
    throw UserError(str_cat("evaluation: metric '", metric, "' is not supported; allowed: ", join(kMetrics),
                            meant.empty() ? "" : str_cat(". Did you mean '", meant, "'?")));
  }
  if (!options.iou_thr.empty())
    throw UserError("evaluation: iou_thr is an option of VOC's mAP; COCO's thresholds are iou_thrs");
  for (const std::string& item : options.metric_items) item_index(item);
  const std::vector<int64_t>& nums = options.proposal_nums;
  if (nums.size() != 3 || !std::is_sorted(nums.begin(), nums.end()) || nums.front() < 1) {
    throw UserError(
        str_cat("evaluation: proposal_nums must be three ascending numbers, got [", join(nums), "]"));
  }
}

EvalReport coco_metrics(const CocoReferenceData& reference, const std::vector<CocoDetection>& detections,
                        const EvalOptions& options) {
  check_coco_options(options);
  if (detections.empty()) log_error("The testing results of the whole dataset is empty.");
  EvalReport report;
  for (const std::string& metric : options.metrics) {
    report.table += str_cat("\nEvaluating ", metric, "...\n");
    if (metric == "proposal_fast") {
      add_fast_recall(reference, detections, options, report);
      continue;
    }
    const CocoEval eval(make_params(reference, options, metric), reference.annotations, detections);
    report.table += eval.summary();
    if (metric == "proposal") {
      add_recall(options, eval, report);
      continue;
    }
    if (options.classwise) report.table += "\n" + classwise_table(reference, eval);
    add_precision(metric, options, eval, report);
  }
  return report;
}

}  // namespace osprey
