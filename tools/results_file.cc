#include "tools/results_file.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/io/atomic_file.h"

namespace osprey {
namespace {

using Json = nlohmann::json;

Json to_json(const DetectionResult& result) {
  const std::vector<double> boxes = result.bboxes.to_doubles(), scores = result.scores.to_doubles();
  Json rows = Json::array();
  for (size_t i = 0; i < scores.size(); ++i) {
    rows.push_back({boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3], scores[i]});
  }
  Json json = {{"bboxes", rows}, {"labels", result.labels.to_vector<int64_t>()}};
  if (!result.has_masks) return json;
  json["masks"] = Json::array();
  for (const Rle& mask : result.masks) {
    json["masks"].push_back({{"size", {mask.h, mask.w}}, {"counts", to_string(mask)}});
  }
  return json;
}

DetectionResult from_json(const Json& json) {
  std::vector<float> boxes, scores;
  for (const Json& row : json.at("bboxes")) {
    if (row.size() != 5) throw UserError("a row of bboxes must be [x1, y1, x2, y2, score]");
    for (size_t i = 0; i < 4; ++i) boxes.push_back(row[i]);
    scores.push_back(row[4]);
  }
  const auto labels = json.at("labels").get<std::vector<int64_t>>();
  if (labels.size() != scores.size()) throw UserError("bboxes and labels differ in number");
  const auto count = static_cast<int64_t>(scores.size());
  DetectionResult result;
  result.bboxes = Tensor::from(boxes, {count, 4});
  result.scores = Tensor::from(scores, {count});
  result.labels = Tensor::from(labels, {count});
  result.has_masks = json.contains("masks");
  if (!result.has_masks) return result;
  for (const Json& mask : json["masks"]) {
    result.masks.push_back(rle_from_string(mask.at("counts"), mask.at("size").at(0), mask.at("size").at(1)));
  }
  if (result.masks.size() != scores.size()) throw UserError("bboxes and masks differ in number");
  return result;
}

}  // namespace

void write_results(const std::string& path, const std::vector<DetectionResult>& results) {
  AtomicFile file(path);
  file.write("[");
  for (size_t i = 0; i < results.size(); ++i)
    file.write((i == 0 ? "\n" : ",\n") + to_json(results[i]).dump());
  file.write("\n]\n");
  file.commit();
}

std::vector<DetectionResult> read_results(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw UserError(str_cat(path, ": cannot open the file"));
  std::vector<DetectionResult> results;
  try {
    for (const Json& image : Json::parse(in)) results.push_back(from_json(image));
  } catch (const Json::exception& error) {
    throw UserError(str_cat(path, ": not a results file of tools/test --out: ", error.what()));
  } catch (const UserError& error) {
    throw UserError(str_cat(path, ": image ", results.size(), ": ", error.what()));
  }
  return results;
}

}  // namespace osprey
