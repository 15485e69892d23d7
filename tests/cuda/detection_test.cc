#include <gtest/gtest.h>

#include <cmath>

#include "core/anchor/anchor_generator.h"
#include "core/backend/cuda/runtime.h"
#include "core/base/rng.h"
#include "core/bbox/assigner.h"
#include "core/bbox/bbox_coder.h"
#include "core/bbox/device_samples.h"
#include "core/bbox/transforms.h"
#include "core/ops/nms.h"
#include "tests/golden.h"

// Boxes on CUDA against the CPU: the same bits, and the host waits where docs/cuda.md says so, no more.
namespace osprey {
namespace {

constexpr Device kCuda{DeviceType::kCUDA, 0};

class CudaDetection : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

// Boxes on a coarse grid: many exact ties.
Tensor grid_boxes(int64_t n, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    const double x = 4 * std::floor(rng.uniform(0, 60)), y = 4 * std::floor(rng.uniform(0, 60));
    const double w = 8 * (1 + std::floor(rng.uniform(0, 6))), h = 8 * (1 + std::floor(rng.uniform(0, 6)));
    for (const double edge : {x, y, x + w, y + h}) values.push_back(static_cast<float>(edge));
  }
  return Tensor::from(values, {n, 4});
}

struct Scene {
  Tensor boxes = grid_boxes(3000, 1), gts = grid_boxes(13, 2), regions = grid_boxes(3, 3);
  Tensor labels = Tensor::zeros({13}, DType::kI64);

  Scene() {
    boxes.mutable_data<float>()[4 * 77 + 1] = std::nanf("");
    gts.mutable_data<float>()[4 * 5] = std::nanf("");
    for (int64_t i = 0; i < 13; ++i) labels.mutable_data<int64_t>()[i] = i % 4;
  }
};

const char* const kAssigners[] = {
    "{type: MaxIoUAssigner, pos_iou_thr: 0.7, neg_iou_thr: 0.3, min_pos_iou: 0.3}",
    "{type: MaxIoUAssigner, pos_iou_thr: 0.5, neg_iou_thr: [0.1, 0.5], min_pos_iou: 0, gt_max_assign_all: "
    "false}",
    "{type: MaxIoUAssigner, pos_iou_thr: 0.5, neg_iou_thr: 0.5, match_low_quality: false, ignore_iof_thr: "
    "0.4}",
    "{type: MaxIoUAssigner, pos_iou_thr: 0.5, neg_iou_thr: 0.5, ignore_iof_thr: 0.4, ignore_wrt_candidates: "
    "false}"};

TEST_F(CudaDetection, AssignsTheSameBoxesWithoutAWait) {
  const Scene scene;
  for (const char* yaml : kAssigners) {
    SCOPED_TRACE(yaml);
    const auto assigner = build<BBoxAssigner>(parse_config(yaml));
    const AssignResult expected = assigner->assign(scene.boxes, scene.gts, scene.regions, scene.labels);
    const Tensor boxes = scene.boxes.to(kCuda);
    const int64_t waits = synchronization_count();
    const AssignResult actual = assigner->assign(boxes, scene.gts, scene.regions, scene.labels);
    EXPECT_EQ(synchronization_count(), waits);
    EXPECT_TENSOR_EQ(actual.gt_inds, expected.gt_inds);
    EXPECT_TENSOR_EQ(actual.labels, expected.labels);
    EXPECT_TENSOR_EQ(actual.max_overlaps, expected.max_overlaps);
  }
}

void expect_same_samples(const SamplingResult& actual, const SamplingResult& expected) {
  EXPECT_TENSOR_EQ(actual.pos_inds, expected.pos_inds);
  EXPECT_TENSOR_EQ(actual.neg_inds, expected.neg_inds);
  EXPECT_TENSOR_EQ(actual.pos_bboxes, expected.pos_bboxes);
  EXPECT_TENSOR_EQ(actual.neg_bboxes, expected.neg_bboxes);
  EXPECT_TENSOR_EQ(actual.pos_is_gt, expected.pos_is_gt);
  EXPECT_TENSOR_EQ(actual.pos_assigned_gt_inds, expected.pos_assigned_gt_inds);
  EXPECT_TENSOR_EQ(actual.pos_gt_bboxes, expected.pos_gt_bboxes);
  EXPECT_TENSOR_EQ(actual.pos_gt_labels, expected.pos_gt_labels);
}

TEST_F(CudaDetection, DrawsTheSameSamplesWithOneWaitForAllImages) {
  const Scene scene;
  const auto assigner = build<BBoxAssigner>(parse_config(kAssigners[0]));
  const AssignResult on_cpu = assigner->assign(scene.boxes, scene.gts, {}, scene.labels);
  const Tensor boxes = scene.boxes.to(kCuda);
  for (const char* yaml :
       {"{type: RandomSampler, num: 64, pos_fraction: 0.25}",
        "{type: RandomSampler, num: 512, pos_fraction: 0.5, add_gt_as_proposals: false}",
        "{type: RandomSampler, num: 9000, pos_fraction: 0.5, neg_pos_ub: 3}", "{type: PseudoSampler}"}) {
    SCOPED_TRACE(yaml);
    const auto sampler = build<BBoxSampler>(parse_config(yaml));
    std::vector<AssignResult> images(2, assigner->assign(boxes, scene.gts, {}, scene.labels));
    const int64_t waits = synchronization_count();
    find_assigned_rows(images);
    std::vector<SamplingResult> actual;
    for (uint64_t i = 0; i < 2; ++i) {
      CounterRng rng(11, 0, i);
      actual.push_back(sampler->sample(images[i], boxes, scene.gts, scene.labels, rng));
    }
    EXPECT_EQ(synchronization_count() - waits, 1);
    for (uint64_t i = 0; i < 2; ++i) {
      CounterRng rng(11, 0, i);
      expect_same_samples(actual[i], sampler->sample(on_cpu, scene.boxes, scene.gts, scene.labels, rng));
    }
  }
}

// What a sampler that only knows lists of rows is given.
TEST_F(CudaDetection, CollectsListedSamplesAsTheCPU) {
  const Scene scene;
  const auto assigner = build<BBoxAssigner>(parse_config(kAssigners[0]));
  const auto collected = [&](Device device) {
    SamplingCandidates candidates{assigner->assign(scene.boxes.to(device), scene.gts, {}, scene.labels),
                                  scene.boxes.to(device)};
    candidates = add_gt_as_proposals(std::move(candidates), scene.gts, scene.labels);
    return collect_samples(candidates, scene.gts, positives_of(candidates.assigned),
                           negatives_of(candidates.assigned));
  };
  expect_same_samples(collected(kCuda), collected(kCPU));
}

TEST_F(CudaDetection, NothingToSampleIsNoError) {
  const Tensor none({0, 4}, DType::kF32, kCuda), boxes = grid_boxes(50, 4).to(kCuda);
  const auto assigner = build<BBoxAssigner>(parse_config(kAssigners[0]));
  const auto sampler = build<BBoxSampler>(parse_config("{type: RandomSampler, num: 8, pos_fraction: 0.5}"));
  CounterRng rng(1);
  const Tensor no_labels({0}, DType::kI64);
  const SamplingResult background = sampler->sample(assigner->assign(boxes, none.to(kCPU), {}, no_labels),
                                                    boxes, none.to(kCPU), no_labels, rng);
  EXPECT_EQ(background.pos_bboxes.shape(), (Shape{0, 4}));
  EXPECT_EQ(background.neg_inds.numel(), 8);
  const SamplingResult nothing =
      sampler->sample(assigner->assign(none, none.to(kCPU), {}, {}), none, none.to(kCPU), {}, rng);
  EXPECT_EQ(nothing.bboxes().shape(), (Shape{0, 4}));
}

struct Candidates {
  Tensor boxes, scores, classes;
};

Candidates candidates_of(int64_t n, uint64_t seed) {
  Candidates candidates{grid_boxes(n, seed), testing::uniform({n}, 0, 1, seed), Tensor({n}, DType::kI64)};
  float* score = candidates.scores.mutable_data<float>();
  for (int64_t i = 0; i < n; ++i) {
    score[i] = std::floor(score[i] * 300) / 300;
    candidates.classes.mutable_data<int64_t>()[i] = i % 5;
  }
  if (n > 100) {
    score[17] = std::nanf("");
    candidates.boxes.mutable_data<float>()[4 * 33] = std::nanf("");
  }
  return candidates;
}

TEST_F(CudaDetection, SuppressesTheSameBoxesWithOneWaitForAllImages) {
  for (const int64_t n : {0, 1, 63, 64, 65, 3000}) {
    const Candidates c = candidates_of(n, 6);
    for (const char* yaml :
         {"nms: {type: nms, iou_threshold: 0.5}", "nms: {type: nms, iou_threshold: 0.3, max_num: 70}",
          "nms: {type: nms, iou_threshold: 0.5, class_agnostic: true, offset: 1}",
          "nms: {type: nms, iou_threshold: 0.5, split_thr: 64}", "nms: null",
          "nms: {type: nms, iou_threshold: 0.7, score_threshold: 0.4}"}) {
      SCOPED_TRACE(yaml + std::string(", ") + std::to_string(n));
      const NmsConfig cfg = NmsConfig::from(parse_config(yaml).find("nms"));
      const NmsResult expected = batched_nms(c.boxes, c.scores, c.classes, cfg);
      const Tensor boxes = c.boxes.to(kCuda), scores = c.scores.to(kCuda), classes = c.classes.to(kCuda);
      const int64_t waits = synchronization_count();
      const auto actual =
          finish_nms(std::vector<PendingNms>(2, start_batched_nms(boxes, scores, classes, cfg)));
      EXPECT_EQ(synchronization_count() - waits, 1);
      for (const NmsResult& image : actual) {
        EXPECT_TENSOR_EQ(image.keep, expected.keep);
        EXPECT_TENSOR_EQ(image.dets, expected.dets);
      }
    }
  }
}

TEST_F(CudaDetection, PlainNmsAndMoreBoxesThanTheDeviceTakes) {
  const Candidates c = candidates_of(2000, 9);
  EXPECT_TENSOR_EQ(nms(c.boxes.to(kCuda), c.scores.to(kCuda), 0.4, 50), nms(c.boxes, c.scores, 0.4, 50));
  const Candidates many = candidates_of(kMaxDeviceNmsBoxes + 1, 10);
  NmsConfig cfg;
  const NmsResult there =
      batched_nms(many.boxes.to(kCuda), many.scores.to(kCuda), many.classes.to(kCuda), cfg);
  EXPECT_EQ(there.dets.device(), kCuda);
  EXPECT_TENSOR_EQ(there.keep, batched_nms(many.boxes, many.scores, many.classes, cfg).keep);
}

TEST_F(CudaDetection, BoxArithmeticWaitsForNothing) {
  const Tensor boxes = grid_boxes(100, 7).to(kCuda), gts = grid_boxes(100, 8).to(kCuda);
  const auto coder = build<BBoxCoder>(parse_config("type: DeltaXYWHBBoxCoder"));
  const AnchorGenerator generator(parse_config("{strides: [4, 8], ratios: [0.5, 1], scales: [8]}"));
  const int64_t waits = synchronization_count();
  const Variable deltas(coder->encode(boxes, gts), /*requires_grad=*/true);
  const Variable decoded = coder->decode(boxes, deltas, std::array<int64_t, 2>{200, 200});
  decoded.backward(Tensor::full(decoded.shape(), 1, DType::kF32, kCuda));
  const Tensors anchors = generator.grid_anchors({{20, 30}, {10, 15}}, kCuda);
  anchor_inside_flags(concat(anchors), concat(generator.valid_flags({{20, 30}, {10, 15}}, {80, 120}, kCuda)),
                      {70, 110}, 0);
  map_roi_levels(bbox2roi({boxes, gts}), 56, 4);
  EXPECT_EQ(synchronization_count(), waits);
}

}  // namespace
}  // namespace osprey
