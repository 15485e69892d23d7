#include "core/data/coco_dataset.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "core/base/logging.h"
#include "core/data/class_names.h"
#include "core/data/coco_annotation_filter.h"
#include "core/data/coco_classes.h"
#include "core/data/data_paths.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMinSide = 32;         // pixels, mmdetection's _filter_imgs
constexpr size_t kReportedInvalid = 10;  // annotations listed one by one

std::vector<std::string> names_of(const std::vector<CocoCategory>& categories) {
  std::vector<std::string> names;
  for (const CocoCategory& category : categories) names.push_back(category.name);
  return names;
}

}  // namespace

CocoDataset::CocoDataset(const ConfigNode& cfg)
    : CustomDataset(cfg),
      classes_(read_classes(cfg, coco_classes())),
      file_(load_coco_file(find_ann_file(cfg))),
      img_prefix_(below_data_root(cfg, cfg.get("img_prefix", ""))),
      seg_prefix_(below_data_root(cfg, cfg.get("seg_prefix", ""))) {
  if (!cfg.find("proposal_file").is_null())
    cfg["proposal_file"].fail("proposals are not read from files: use null");
  map_categories(cfg);
  choose_images(cfg);
  check_folders(cfg);
  if (!test_mode()) report_invalid_annotations();
}

void CocoDataset::map_categories(const ConfigNode& cfg) {
  std::vector<std::string> missing;
  for (size_t label = 0; label < classes_.size(); ++label) {
    const auto found =
        std::find_if(file_.categories.begin(), file_.categories.end(),
                     [&](const CocoCategory& category) { return category.name == classes_[label]; });
    if (found == file_.categories.end()) {
      missing.push_back(classes_[label]);
    } else {
      label_of_category_[found->id] = static_cast<int64_t>(label);
    }
  }
  if (missing.empty()) return;
  const bool configured = !cfg.find("classes").is_null();
  const ConfigNode node = configured ? cfg["classes"] : cfg;
  const std::string problem = str_cat(
      classes_.size() - missing.size(), " of ", classes_.size(), configured ? " configured" : " COCO",
      " classes found in annotation file ", file_.path, "; file has: ", join(names_of(file_.categories)));
  if (label_of_category_.empty()) {
    node.fail(problem + (configured ? "" : "; set `classes` (and num_classes of the heads) to them"));
  }
  log_warning(str_cat(node.where(), ": ", problem, "; missing: ", join(missing)));
}

bool CocoDataset::has_annotation_of_classes(const CocoImage& image) const {
  return std::any_of(image.annotations.begin(), image.annotations.end(), [this](size_t i) {
    return label_of_category_.count(file_.annotations[i].category_id) != 0;
  });
}

void CocoDataset::choose_images(const ConfigNode& cfg) {
  const bool filter_empty_gt = cfg.get("filter_empty_gt", true);
  const auto limit =
      static_cast<size_t>(cfg.get("num_images", std::numeric_limits<int64_t>::max(), positive()));
  for (size_t i = 0; i < file_.images.size() && images_.size() < limit; ++i) {
    const CocoImage& image = file_.images[i];
    if (!test_mode() && std::min(image.w, image.h) < kMinSide) continue;
    if (!test_mode() && filter_empty_gt && !has_annotation_of_classes(image)) continue;
    images_.push_back(i);
  }
  if (images_.empty()) {
    cfg["ann_file"].fail(
        str_cat("none of the ", file_.images.size(), " images of ", file_.path, " can be used",
                test_mode() ? ""
                            : ": training needs annotations (or filter_empty_gt: false) and at "
                              "least 32 pixels a side"));
  }
}

void CocoDataset::check_folders(const ConfigNode& cfg) const {
  if (!img_prefix_.empty() && !fs::is_directory(img_prefix_)) {
    cfg["img_prefix"].fail(
        str_cat("there is no folder '", img_prefix_, "'", where_data_is(cfg, "img_prefix")));
  }
  if (!pipeline_produces("gt_semantic_seg")) return;
  constexpr char kTwoWaysOut[] =
      ". Either set seg_prefix to the folder of the semantic maps (one PNG for each image, e.g. COCO's "
      "stuffthingmaps/train2017/), or train without the semantic branch: with_seg: false in LoadAnnotations, "
      "no "
      "gt_semantic_seg in Collect, no semantic_head and semantic_roi_extractor in the model";
  if (seg_prefix_.empty())
    cfg.fail(str_cat("LoadAnnotations has with_seg: true, but there is no seg_prefix", kTwoWaysOut));
  if (!fs::is_directory(seg_prefix_)) {
    cfg["seg_prefix"].fail(str_cat("there is no folder '", seg_prefix_, "'", kTwoWaysOut));
  }
}

// Once per dataset: these annotations are not trained on.
void CocoDataset::report_invalid_annotations() const {
  size_t count = 0;
  std::string list;
  for (const size_t i : images_) {
    for (const size_t a : file_.images[i].annotations) {
      const std::string reason = invalid_reason(file_.annotations[a], file_.images[i]);
      if (reason.empty()) continue;
      if (++count <= kReportedInvalid) {
        list +=
            str_cat("\n  ", file_.images[i].file_name, " annotation ", file_.annotations[a].id, ": ", reason);
      }
    }
  }
  if (count == 0) return;
  if (count > kReportedInvalid) list += str_cat("\n  and ", count - kReportedInvalid, " more");
  log_warning(str_cat(file_.path, ": ", count, " invalid annotations are left out:", list));
}

SampleSource CocoDataset::source(int64_t index) const {
  const CocoImage& image = this->image(index);
  SampleSource source;
  source.filename = (fs::path(img_prefix_) / image.file_name).string();
  if (!seg_prefix_.empty()) {
    source.seg_map = (fs::path(seg_prefix_) / image.file_name).replace_extension(".png").string();
  }
  source.image_id = image.id;
  source.h = image.h;
  source.w = image.w;
  for (const size_t i : image.annotations) {
    const CocoAnnotation& annotation = file_.annotations[i];
    const auto label = label_of_category_.find(annotation.category_id);
    if (annotation.ignore || label == label_of_category_.end()) continue;
    if (!invalid_reason(annotation, image).empty()) continue;
    const auto [x, y, w, h] = annotation.bbox;
    const BBox box{static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + w),
                   static_cast<float>(y + h)};
    if (annotation.iscrowd) {
      source.bboxes_ignore.push_back(box);
      continue;
    }
    source.bboxes.push_back(box);
    source.labels.push_back(label->second);
    source.ann_ids.push_back(annotation.id);
    source.masks.push_back(annotation.segmentation);
  }
  return source;
}

std::vector<int64_t> CocoDataset::labels(int64_t index) const {
  std::set<int64_t> labels;
  for (const size_t i : image(index).annotations) {
    const auto label = label_of_category_.find(file_.annotations[i].category_id);
    if (label != label_of_category_.end()) labels.insert(label->second);
  }
  return {labels.begin(), labels.end()};
}

CocoReference CocoDataset::reference() const {
  CocoReference reference{&file_, images_, classes_, std::vector<int64_t>(classes_.size(), -1)};
  for (const auto& [category, label] : label_of_category_) reference.category_of_label[label] = category;
  return reference;
}

EvalReport CocoDataset::evaluate(const std::vector<DetectionResult>& results,
                                 const EvalOptions& options) const {
  if (images_.size() < file_.images.size() && !test_mode()) {
    log_warning(str_cat(file_.path, ": evaluated without test_mode, i.e. on the ", size(), " of ",
                        file_.images.size(), " images that training would use"));
  }
  return evaluate_coco(reference(), results, options);
}

void CocoDataset::format_results(const std::vector<DetectionResult>& results,
                                 const std::string& prefix) const {
  write_coco_results(reference(), results, prefix);
}

OSPREY_REGISTER(Dataset, CocoDataset);

}  // namespace osprey
