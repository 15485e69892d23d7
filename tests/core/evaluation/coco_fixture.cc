#include "tests/core/evaluation/coco_fixture.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/mask/polygon.h"
#include "tests/golden.h"

namespace osprey::testing {
namespace {

std::shared_ptr<const nlohmann::json> load(const std::string& path) {
  std::ifstream in(path);
  return std::make_shared<const nlohmann::json>(nlohmann::json::parse(in));
}

Rle annotation_mask(const nlohmann::json& segmentation, int64_t h, int64_t w) {
  if (segmentation.is_array()) return rasterize(segmentation.get<std::vector<Polygon>>(), h, w);
  return rle_from_counts(segmentation["counts"].get<std::vector<int64_t>>(), h, w);
}

CocoDetection detection(const nlohmann::json& entry) {
  CocoDetection dt{
      entry["image_id"], entry["category_id"], entry["bbox"].get<XYWH>(), entry["score"], 0, nullptr};
  dt.area = dt.bbox[2] * dt.bbox[3];
  return dt;
}

}  // namespace

CocoFixture::CocoFixture()
    : expected_(load(Golden::find_file("ops/coco_eval/expected.json"))),
      segm_(load(Golden::find_file("ops/coco_eval/detections_segm.json"))),
      proposals_(load(Golden::find_file("ops/coco_eval/proposals.json"))) {
  // The annotations are data, not numbers of the reference: they ship with the tests.
  const std::string annotations = (*expected_)["annotation_file"];
  const auto file = load(Golden::shipped_file("ops/coco_eval/" + annotations));
  reference_.image_ids = (*expected_)["image_ids"].get<std::vector<int64_t>>();
  reference_.category_ids = (*expected_)["category_ids"].get<std::vector<int64_t>>();
  for (const auto& category : (*file)["categories"]) reference_.category_names.push_back(category["name"]);
  std::map<int64_t, std::pair<int64_t, int64_t>> sizes;
  for (const auto& image : (*file)["images"]) sizes[image["id"]] = {image["height"], image["width"]};
  for (const auto& entry : (*file)["annotations"]) {
    const auto [h, w] = sizes.at(entry["image_id"]);
    gt_masks_.push_back(annotation_mask(entry["segmentation"], h, w));
    reference_.annotations.push_back({entry["id"], entry["image_id"], entry["category_id"],
                                      entry["bbox"].get<XYWH>(), entry["area"], entry["iscrowd"] == 1,
                                      &gt_masks_.back()});
  }
  for (const auto& entry : *segm_) {
    const auto& segmentation = entry["segmentation"];
    dt_masks_.push_back(
        rle_from_string(segmentation["counts"], segmentation["size"][0], segmentation["size"][1]));
  }
}

const nlohmann::json& CocoFixture::expected() const { return *expected_; }

std::vector<CocoDetection> CocoFixture::detections(bool box_area) const {
  std::vector<CocoDetection> detections;
  for (const auto& entry : *segm_) {
    CocoDetection dt = detection(entry);
    dt.segmentation = &dt_masks_[detections.size()];
    if (!box_area) dt.area = static_cast<double>(area(*dt.segmentation));
    detections.push_back(dt);
  }
  return detections;
}

std::vector<CocoDetection> CocoFixture::proposals() const {
  std::vector<CocoDetection> detections;
  for (const auto& entry : *proposals_) detections.push_back(detection(entry));
  return detections;
}

}  // namespace osprey::testing
