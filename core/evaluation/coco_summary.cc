#include <cstdio>

#include "core/base/error.h"
#include "core/evaluation/coco_eval.h"

// pycocotools' summary: twelve means and how they are printed.
namespace osprey {
namespace {

struct Line {
  bool precision;
  std::optional<double> iou_thr;
  const char* area;
  int max_dets;  // position in params.max_dets, or -1 for a literal 100
};

// The first AP is tied to 100 detections: COCOeval's summarize() does not pass max_dets there.
constexpr std::array<Line, 12> kLines = {{
    {true, std::nullopt, "all", -1},
    {true, 0.5, "all", 2},
    {true, 0.75, "all", 2},
    {true, std::nullopt, "small", 2},
    {true, std::nullopt, "medium", 2},
    {true, std::nullopt, "large", 2},
    {false, std::nullopt, "all", 0},
    {false, std::nullopt, "all", 1},
    {false, std::nullopt, "all", 2},
    {false, std::nullopt, "small", 2},
    {false, std::nullopt, "medium", 2},
    {false, std::nullopt, "large", 2},
}};

int64_t max_dets_of(const Line& line, const CocoEvalParams& params) {
  return line.max_dets < 0 ? 100 : params.max_dets[line.max_dets];
}

std::string iou_text(const Line& line, const CocoEvalParams& params) {
  char text[32];
  if (line.iou_thr) {
    std::snprintf(text, sizeof text, "%.2f", *line.iou_thr);
  } else {
    std::snprintf(text, sizeof text, "%.2f:%.2f", params.iou_thrs.front(), params.iou_thrs.back());
  }
  return text;
}

}  // namespace

std::array<double, 12> CocoEval::stats() const {
  OSPREY_REQUIRE(params_.max_dets.size() == 3, "COCO evaluation: the summary needs three max_dets, got [",
                 join(params_.max_dets), "]");
  std::array<double, 12> stats;
  for (size_t i = 0; i < stats.size(); ++i) {
    const Line& line = kLines[i];
    const Cells cells{line.iou_thr, std::nullopt, line.area, max_dets_of(line, params_)};
    stats[i] = line.precision ? average_precision(cells) : average_recall(cells);
  }
  return stats;
}

std::string CocoEval::summary() const {
  const std::array<double, 12> values = stats();
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    const Line& line = kLines[i];
    char row[128];
    std::snprintf(row, sizeof row, " %-18s %s @[ IoU=%-9s | area=%6s | maxDets=%3lld ] = %0.3f\n",
                  line.precision ? "Average Precision" : "Average Recall", line.precision ? "(AP)" : "(AR)",
                  iou_text(line, params_).c_str(), line.area,
                  static_cast<long long>(max_dets_of(line, params_)), values[i]);
    text += row;
  }
  return text;
}

}  // namespace osprey
