#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace osprey {

// Ordered metric names and values as mmdetection logs them ("bbox_mAP": 0.381), and tables for the console.
struct EvalReport {
  std::vector<std::pair<std::string, double>> metrics;     // in log order
  std::vector<std::pair<std::string, std::string>> texts;  // bbox_mAP_copypaste and the like
  std::string table;                                       // pycocotools' summary, ready to print
};

// Options of Dataset.evaluate, from `evaluation:` or --eval / --eval-options.
struct EvalOptions {
  std::vector<std::string> metrics = {"bbox"};  // bbox, segm, proposal, proposal_fast; mAP of VOC
  bool classwise = false;
  std::vector<int64_t> proposal_nums = {100, 300, 1000};
  std::vector<double> iou_thrs;           // empty: 0.50:0.05:0.95
  std::vector<std::string> metric_items;  // empty: those that mmdetection reports, e.g. mAP, mAP_50, AR@100
  std::vector<double> iou_thr;            // of mAP; empty: 0.5
  std::string jsonfile_prefix;            // also write results there when not empty
};

}  // namespace osprey
