#include "core/data/voc_dataset.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <opencv2/imgcodecs.hpp>
#include <set>

#include "core/base/logging.h"
#include "core/data/class_names.h"
#include "core/data/data_paths.h"
#include "core/data/pipelines/image_io.h"
#include "core/evaluation/voc_map.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMinSide = 32;         // pixels, mmdetection's _filter_imgs
constexpr size_t kReportedInvalid = 10;  // objects listed one by one

const std::vector<std::string> kClasses = {"aeroplane",   "bicycle", "bird",  "boat",      "bottle",
                                           "bus",         "car",     "cat",   "chair",     "cow",
                                           "diningtable", "dog",     "horse", "motorbike", "person",
                                           "pottedplant", "sheep",   "sofa",  "train",     "tvmonitor"};

std::vector<std::string> read_ids(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> ids;
  for (std::string id; in >> id;) ids.push_back(id);
  return ids;
}

Tensor rows_of(const std::vector<float>& corners) {
  return Tensor::from(corners, {static_cast<int64_t>(corners.size()) / 4, 4});
}
Tensor labels_of(const std::vector<int64_t>& labels) {
  return Tensor::from(labels, {static_cast<int64_t>(labels.size())});
}

double rounded(double value) { return std::nearbyint(value * 1000) / 1000; }

void report_invalid(const std::string& ann_file, const std::vector<std::string>& invalid) {
  if (invalid.empty()) return;
  const size_t listed = std::min(invalid.size(), kReportedInvalid);
  std::string list;
  for (size_t i = 0; i < listed; ++i) list += "\n  " + invalid[i];
  if (listed < invalid.size()) list += str_cat("\n  and ", invalid.size() - listed, " more");
  log_warning(str_cat(ann_file, ": ", invalid.size(), " invalid objects are left out:", list));
}

}  // namespace

VOCDataset::VOCDataset(const ConfigNode& cfg)
    : CustomDataset(cfg),
      classes_(read_classes(cfg, kClasses)),
      img_prefix_(below_data_root(cfg, cfg.get("img_prefix", ""))),
      filter_empty_gt_(cfg.get("filter_empty_gt", true)),
      eleven_points_(img_prefix_.find("VOC2007") != std::string::npos),
      min_size_(cfg.get("min_size", int64_t{0}, non_negative())) {
  const std::string ann_file = find_ann_file(cfg);
  if (!fs::is_directory(fs::path(img_prefix_) / "Annotations"))
    cfg["img_prefix"].fail(
        str_cat("there is no folder '", img_prefix_, "/Annotations'", where_data_is(cfg, "img_prefix")));
  const auto limit =
      static_cast<size_t>(cfg.get("num_images", std::numeric_limits<int64_t>::max(), positive()));
  std::vector<std::string> invalid;
  for (const std::string& id : read_ids(ann_file)) {
    if (images_.size() == limit) break;
    Image image = read_image(id, invalid);
    if (wanted(image)) images_.push_back(std::move(image));
  }
  if (!test_mode()) report_invalid(ann_file, invalid);
  if (images_.empty())
    cfg["ann_file"].fail(str_cat("none of the images of ", ann_file,
                                 " can be used: training needs objects of the "
                                 "classes (or filter_empty_gt: false) and at least 32 pixels a side"));
}

std::string VOCDataset::image_path(const std::string& id) const {
  return (fs::path(img_prefix_) / "JPEGImages" / (id + ".jpg")).string();
}

// `invalid` gets a line for each object that is left out.
VOCDataset::Image VOCDataset::read_image(const std::string& id, std::vector<std::string>& invalid) const {
  const std::string path = (fs::path(img_prefix_) / "Annotations" / (id + ".xml")).string();
  const VocAnnotation annotation = read_voc_annotation(path);
  Image image{id, annotation.w, annotation.h, {}};
  if (image.w <= 0 || image.h <= 0) {
    const cv::Mat pixels = osprey::read_image(image_path(id), cv::IMREAD_COLOR);
    image.w = pixels.cols;
    image.h = pixels.rows;
  }
  for (const VocObject& object : annotation.objects) {
    const auto name = std::find(classes_.begin(), classes_.end(), object.name);
    if (name == classes_.end()) continue;
    BBox box;
    for (size_t i = 0; i < box.size(); ++i) box[i] = static_cast<float>(std::trunc(object.bbox[i]) - 1);
    const float w = box[2] - box[0], h = box[3] - box[1];
    if (!(w > 0 && h > 0)) {
      invalid.push_back(
          str_cat(path, ": '", object.name, "' has no area: xmin, ymin, xmax, ymax ", join(object.bbox)));
      continue;
    }
    const bool small = !test_mode() && std::min(w, h) < static_cast<float>(min_size_);
    image.objects.push_back({name - classes_.begin(), box, object.difficult || small});
  }
  return image;
}

bool VOCDataset::wanted(const Image& image) const {
  if (test_mode()) return true;
  return std::min(image.w, image.h) >= kMinSide && (!filter_empty_gt_ || !image.objects.empty());
}

SampleSource VOCDataset::source(int64_t index) const {
  const Image& image = images_[index];
  SampleSource source;
  source.filename = image_path(image.id);
  source.image_id = index;
  source.h = image.h;
  source.w = image.w;
  for (const Object& object : image.objects) {
    if (object.ignore) {
      source.bboxes_ignore.push_back(object.bbox);
      continue;
    }
    source.bboxes.push_back(object.bbox);
    source.labels.push_back(object.label);
    source.ann_ids.push_back(static_cast<int64_t>(source.ann_ids.size()));
    source.masks.emplace_back();  // VOC's boxes have none
  }
  return source;
}

std::vector<int64_t> VOCDataset::labels(int64_t index) const {
  std::set<int64_t> labels;
  for (const Object& object : images_[index].objects) labels.insert(object.label);
  return {labels.begin(), labels.end()};
}

void VOCDataset::check_options(const EvalOptions& options) const {
  for (const std::string& metric : options.metrics) {
    if (metric != "mAP")
      throw UserError(
          str_cat("evaluation: metric '", metric, "' is not supported by VOCDataset; allowed: mAP"));
  }
}

EvalReport VOCDataset::evaluate(const std::vector<DetectionResult>& results,
                                const EvalOptions& options) const {
  check_options(options);
  OSPREY_REQUIRE(static_cast<int64_t>(results.size()) == size(), "evaluate: ", results.size(),
                 " results for ", size(), " images");
  std::vector<MapDetections> detections;
  for (const DetectionResult& result : results)
    detections.push_back({result.bboxes, result.scores, result.labels});
  std::vector<MapAnnotations> annotations;
  for (const Image& image : images_) {
    std::vector<float> boxes[2];
    std::vector<int64_t> labels[2];
    for (const Object& object : image.objects) {
      boxes[object.ignore].insert(boxes[object.ignore].end(), object.bbox.begin(), object.bbox.end());
      labels[object.ignore].push_back(object.label);
    }
    annotations.push_back({rows_of(boxes[0]), labels_of(labels[0]), rows_of(boxes[1]), labels_of(labels[1])});
  }
  EvalReport report;
  double sum = 0;
  const std::vector<double> thresholds = options.iou_thr.empty() ? std::vector{0.5} : options.iou_thr;
  for (const double iou_thr : thresholds) {
    const MapOptions how{static_cast<int64_t>(classes_.size()), iou_thr, eleven_points_, {}};
    const MapResult map = eval_map(detections, annotations, how);
    report.table += str_cat("\niou_thr: ", iou_thr, "\n", map_table(map, classes_, how), "\n");
    char name[16];
    std::snprintf(name, sizeof name, "AP%02d", static_cast<int>(iou_thr * 100));
    report.metrics.emplace_back(name, rounded(map.mean_ap.at(0)));
    sum += map.mean_ap.at(0);
  }
  report.metrics.emplace_back("mAP", sum / static_cast<double>(thresholds.size()));
  return report;
}

void VOCDataset::format_results(const std::vector<DetectionResult>&, const std::string&) const {
  throw UserError("VOCDataset has no format for a test server; tools/test --out writes the results as JSON");
}

OSPREY_REGISTER(Dataset, VOCDataset);

}  // namespace osprey
