#include "core/evaluation/voc_map.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using nlohmann::json;

Tensor rows(const json& list) {
  std::vector<float> values;
  for (const auto& row : list) {
    for (size_t i = 0; i < 4; ++i) values.push_back(row[i]);
  }
  return Tensor::from(values, {static_cast<int64_t>(list.size()), 4});
}

Tensor labels(const json& list) { return Tensor::from(list.get<std::vector<int64_t>>(), {-1}); }

class VocMapTest : public ::testing::Test {
 protected:
  VocMapTest() {
    for (const auto& image : data_["annotations"]) {
      annotations_.push_back({rows(image["bboxes"]), labels(image["labels"]), rows(image["bboxes_ignore"]),
                              labels(image["labels_ignore"])});
    }
    for (const auto& image : data_["detections"]) {
      json boxes = json::array();
      std::vector<float> scores;
      std::vector<int64_t> classes;
      for (size_t c = 0; c < image.size(); ++c) {
        for (const auto& row : image[c]) {
          boxes.push_back(row);
          scores.push_back(row[4]);
          classes.push_back(static_cast<int64_t>(c));
        }
      }
      detections_.push_back({rows(boxes), Tensor::from(scores, {-1}), Tensor::from(classes, {-1})});
    }
  }

  MapOptions options_of(const json& run) const {
    MapOptions options{data_["num_classes"], run["iou_thr"], run["mode"] == "11points", {}};
    if (!run["scale_ranges"].is_null()) {
      for (const auto& range : run["scale_ranges"]) options.scale_ranges.emplace_back(range[0], range[1]);
    }
    return options;
  }

  const json data_ = testing::Golden::open("ops/voc_map").json();
  std::vector<MapDetections> detections_;
  std::vector<MapAnnotations> annotations_;
};

// A value, or one of a list with an entry per scale range.
json at_range(const json& value, size_t range, bool has_ranges) { return has_ranges ? value[range] : value; }

TEST_F(VocMapTest, EveryClassAndRangeEqualsMmdetection) {
  for (const auto& run : data_["cases"]) {
    SCOPED_TRACE(run["name"].get<std::string>());
    const MapOptions options = options_of(run);
    const MapResult result = eval_map(detections_, annotations_, options);
    const bool has_ranges = !options.scale_ranges.empty();
    for (size_t r = 0; r < result.mean_ap.size(); ++r) {
      EXPECT_NEAR(result.mean_ap[r], at_range(run["mAP"], r, has_ranges).get<double>(), 1e-6);
    }
    for (size_t c = 0; c < result.classes.size(); ++c) {
      const json& expected = run["classes"][c];
      for (size_t r = 0; r < result.classes[c].size(); ++r) {
        const ClassAp& actual = result.classes[c][r];
        EXPECT_EQ(actual.num_gts, at_range(expected["num_gts"], r, has_ranges).get<int64_t>());
        EXPECT_EQ(actual.num_dets, expected["num_dets"].get<int64_t>());
        EXPECT_NEAR(actual.ap, at_range(expected["ap"], r, has_ranges).get<double>(), 1e-6);
        const json recall = at_range(expected["recall"], r, has_ranges);
        const json precision = at_range(expected["precision"], r, has_ranges);
        if (actual.num_gts == 0) continue;  // divided by eps there
        ASSERT_EQ(actual.recall.size(), recall.size());
        for (size_t i = 0; i < recall.size(); ++i) {
          EXPECT_NEAR(actual.recall[i], recall[i].get<double>(), 1e-6);
          EXPECT_NEAR(actual.precision[i], precision[i].get<double>(), 1e-6);
        }
      }
    }
  }
}

TEST_F(VocMapTest, ElevenPointsWithRangesIsNotDividedTwice) {
  MapOptions options{data_["num_classes"], 0.5, true, {}};
  const double whole = eval_map(detections_, annotations_, options).mean_ap[0];
  options.scale_ranges = {{0, 1e5}, {0, 1e5}};
  for (const double mean : eval_map(detections_, annotations_, options).mean_ap)
    EXPECT_NEAR(mean, whole, 1e-12);
}

TEST_F(VocMapTest, TheTableNamesEveryClass) {
  const MapOptions options{data_["num_classes"], 0.5, false, {}};
  const std::string table =
      map_table(eval_map(detections_, annotations_, options), {"a", "b", "c", "d"}, options);
  EXPECT_NE(table.find("| a     | 7   | 26   | 1.000  | 0.280 |"), std::string::npos) << table;
  EXPECT_NE(table.find("| mAP   |     |      |        | 0.331 |"), std::string::npos) << table;
}

TEST(VocMapEmptyTest, NothingAtAllIsZero) {
  EXPECT_EQ(eval_map({}, {}, {3, 0.5, false, {}}).mean_ap, std::vector<double>{0});
  EXPECT_THROW(eval_map({}, {MapAnnotations{}}, {3, 0.5, false, {}}), Error);
}

}  // namespace
}  // namespace osprey
