#include "core/bbox/assigner.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "core/bbox/bbox_overlaps.h"
#include "tests/devices.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

std::unique_ptr<BBoxAssigner> assigner(const std::string& keys) {
  return build<BBoxAssigner>(parse_config("{type: MaxIoUAssigner, " + keys + "}"));
}

const char* const kRpn = "pos_iou_thr: 0.7, neg_iou_thr: 0.3, min_pos_iou: 0.3";

TEST(MaxIoUAssigner, AgreesWithReference) {
  const Golden golden = Golden::open("ops/assigner");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const auto optional = [&](const std::string& tensor) {
      return golden.has(name + tensor) ? golden.tensor(name + tensor) : Tensor();
    };
    nlohmann::json config = golden.json()["cases"][name]["params"];
    config["type"] = "MaxIoUAssigner";
    for (const Device device : testing::devices_in_build()) {
      SCOPED_TRACE(testing::device_name(device));
      const AssignResult result =
          build<BBoxAssigner>(parse_config(config.dump()))
              ->assign(golden.tensor(name + "/bboxes").to(device), golden.tensor(name + "/gt_bboxes"),
                       optional("/gt_bboxes_ignore"), optional("/gt_labels"));
      EXPECT_EQ(result.gt_inds.device(), device);
      EXPECT_TENSOR_EQ(result.gt_inds, golden.tensor(name + "/gt_inds"));
      EXPECT_TENSOR_EQ(result.max_overlaps, golden.tensor(name + "/max_overlaps"));
      EXPECT_EQ(result.labels.defined(), golden.has(name + "/labels"));
      if (result.labels.defined()) {
        EXPECT_TENSOR_EQ(result.labels, golden.tensor(name + "/labels"));
      }
    }
  }
}

// Boxes on a coarse grid: many exact ties.
Tensor grid_boxes(int64_t n, double range, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    const double x = std::floor(rng.uniform(0, range)) * 4, y = std::floor(rng.uniform(0, range)) * 4;
    const double w = 8 * (1 + std::floor(rng.uniform(0, 4))), h = 8 * (1 + std::floor(rng.uniform(0, 4)));
    for (const double edge : {x, y, x + w, y + h}) values.push_back(static_cast<float>(edge));
  }
  return Tensor::from(values, {n, 4});
}

// Step by step over the dense matrix, as the reference is written.
std::vector<int64_t> assign_densely(const Tensor& boxes, const Tensor& gts, bool assign_all) {
  const int64_t n = boxes.dim(0), k = gts.dim(0);
  const std::vector<float> overlaps = bbox_overlaps(gts, boxes).to_vector<float>();
  std::vector<int64_t> gt_inds(n, -1);
  for (int64_t j = 0; j < n; ++j) {
    int64_t best = 0;
    for (int64_t g = 1; g < k; ++g) best = overlaps[g * n + j] > overlaps[best * n + j] ? g : best;
    if (overlaps[best * n + j] < 0.3f) gt_inds[j] = 0;
    if (overlaps[best * n + j] >= 0.7f) gt_inds[j] = best + 1;
  }
  for (int64_t g = 0; g < k; ++g) {
    const float* row = &overlaps[g * n];
    const float* best = std::max_element(row, row + n);
    if (*best < 0.3f) continue;
    for (int64_t j = 0; j < n; ++j) {
      if (assign_all ? row[j] == *best : row + j == best) gt_inds[j] = g + 1;
    }
  }
  return gt_inds;
}

TEST(MaxIoUAssigner, TilesGiveWhatTheDenseMatrixGives) {
  const Tensor boxes = grid_boxes(5003, 60, 1), gts = grid_boxes(300, 60, 2);
  EXPECT_EQ(assigner(kRpn)->assign(boxes, gts, {}, {}).gt_inds.to_vector<int64_t>(),
            assign_densely(boxes, gts, true));
  const std::string first_only = std::string(kRpn) + ", gt_max_assign_all: false";
  EXPECT_EQ(assigner(first_only)->assign(boxes, gts, {}, {}).gt_inds.to_vector<int64_t>(),
            assign_densely(boxes, gts, false));
}

int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(MaxIoUAssigner, MemoryStaysBoundedWithThousandsOfGroundTruths) {
  const Tensor boxes = grid_boxes(250000, 300, 3), gts = grid_boxes(3000, 300, 4);
  const int64_t before = peak_kilobytes();
  const AssignResult result = assigner(kRpn)->assign(boxes, gts, {}, {});
  EXPECT_EQ(result.gt_inds.numel(), 250000);
  EXPECT_LT(peak_kilobytes() - before, 64 << 10) << "the dense matrix would take 3 GB";
}

TEST(MaxIoUAssigner, NaNBoxIsIgnoredAndNaNGroundTruthMatchesNothing) {
  const float nan = std::nanf("");
  const Tensor boxes = Tensor::from<float>({0, 0, 10, 10, nan, 0, 10, 10, 50, 50, 60, 60}, {3, 4});
  const Tensor gts = Tensor::from<float>({0, nan, 10, 10, 0, 0, 10, 10}, {2, 4});
  const AssignResult result = assigner(kRpn)->assign(boxes, gts, {}, Tensor::from<int64_t>({4, 5}, {2}));
  EXPECT_EQ(result.gt_inds.to_vector<int64_t>(), (std::vector<int64_t>{2, -1, 0}));
  EXPECT_EQ(result.labels.to_vector<int64_t>(), (std::vector<int64_t>{5, -1, -1}));
  EXPECT_TRUE(std::isnan(result.max_overlaps.to_doubles()[1]));
}

// Half a box has an IoU of exactly 0.5: positive from the threshold on, negative only below it.
TEST(MaxIoUAssigner, AnOverlapAtTheThresholdIsPositive) {
  const Tensor box = Tensor::from<float>({0, 0, 10, 5}, {1, 4}),
               gt = Tensor::from<float>({0, 0, 10, 10}, {1, 4});
  const auto assigned = [&](const char* keys) {
    return assigner(keys)->assign(box, gt, {}, {}).gt_inds.to_vector<int64_t>().at(0);
  };
  EXPECT_EQ(assigned("pos_iou_thr: 0.5, neg_iou_thr: 0.5, match_low_quality: false"), 1);
  EXPECT_EQ(assigned("pos_iou_thr: 0.6, neg_iou_thr: 0.5, match_low_quality: false"), -1);
  EXPECT_EQ(assigned("pos_iou_thr: 0.6, neg_iou_thr: 0.6, match_low_quality: false"), 0);
}

TEST(MaxIoUAssigner, NoGroundTruthMakesEverythingBackground) {
  const Tensor none({0, 4}, DType::kF32);
  const AssignResult result =
      assigner(kRpn)->assign(grid_boxes(5, 10, 1), none, none, Tensor({0}, DType::kI64));
  EXPECT_EQ(result.gt_inds.to_vector<int64_t>(), std::vector<int64_t>(5, 0));
  EXPECT_EQ(result.labels.to_vector<int64_t>(), std::vector<int64_t>(5, -1));
  EXPECT_EQ(result.num_gts, 0);
}

TEST(MaxIoUAssigner, RefusesBadConfigs) {
  EXPECT_THROW(assigner("pos_iou_thr: 0.5"), UserError);
  EXPECT_THROW(assigner("pos_iou_thr: 0.5, neg_iou_thr: [0.1, 0.2, 0.3]"), UserError);
  EXPECT_THROW(assigner("pos_iou_thr: 0.5, neg_iou_thr: 0.5, iou_calculator: {type: BboxOverlaps3D}"),
               UserError);
}

}  // namespace
}  // namespace osprey
