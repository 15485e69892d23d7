#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/evaluation/coco_types.h"
#include "core/evaluation/eval_report.h"

namespace osprey {

// What the results of a dataset are measured against. Pointers to masks are not owned.
struct CocoReferenceData {
  std::vector<int64_t> image_ids;           // every image of the dataset, with or without annotations
  std::vector<int64_t> category_ids;        // of the dataset's classes that the annotation file knows
  std::vector<std::string> category_names;  // beside category_ids, for the classwise table
  std::vector<CocoGroundTruth> annotations;
};

// CocoDataset.evaluate of mmdetection 2.11: for each of options.metrics (bbox, segm, proposal, proposal_fast)
// the keys `bbox_mAP, bbox_mAP_50, _75, _s, _m, _l` and the text `bbox_mAP_copypaste`, or `AR@100, AR@300,
// AR@1000, AR_s@1000, AR_m@1000, AR_l@1000`, rounded to three decimals; the table is pycocotools' summary.
// As there, mAP is taken at 100 detections and everything else at the last of proposal_nums. Without any
// detection the metrics are 0 (mmdetection: no metrics at all), with a logged error. segm needs masks; sizes
// (_s, _m, _l) go by the detections' `area`. Throws UserError for an unknown metric or metric item.
EvalReport coco_metrics(const CocoReferenceData& reference, const std::vector<CocoDetection>& detections,
                        const EvalOptions& options);

// The check of `options` that coco_metrics makes first, for callers that want to know before an inference of
// hours.
void check_coco_options(const EvalOptions& options);

// Writes detections as a COCO result file, which pycocotools' loadRes reads: a list of {image_id, bbox,
// score, category_id}, and segmentation when `with_masks`. Whole or not at all. Detections with a non-finite
// box or score have no JSON form; they are left out, with a warning.
void write_coco_json(const std::string& path, const std::vector<CocoDetection>& detections, bool with_masks);

}  // namespace osprey
