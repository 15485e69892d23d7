#include "core/ops/nms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "tests/golden.h"

namespace osprey {
namespace {

using testing::Golden;

SoftNmsMethod method_of(const std::string& name) {
  const std::map<std::string, SoftNmsMethod> methods{{"naive", SoftNmsMethod::kNaive},
                                                     {"linear", SoftNmsMethod::kLinear},
                                                     {"gaussian", SoftNmsMethod::kGaussian}};
  return methods.at(name);
}

// A mmcv nms_cfg, read by the code that reads configs.
NmsConfig config_of(const nlohmann::json& nms_cfg) {
  return NmsConfig::from(parse_config("nms: " + nms_cfg.dump()).find("nms"));
}

NmsResult run_case(const Golden& golden, const std::string& name) {
  const nlohmann::json& params = golden.json()["cases"][name]["params"];
  const Tensor &boxes = golden.tensor(name + "/boxes"), &scores = golden.tensor(name + "/scores");
  if (params["op"] == "batched_nms") {
    return batched_nms(boxes, scores, golden.tensor(name + "/idxs"), config_of(params["nms_cfg"]));
  }
  if (params["op"] == "soft_nms") {
    const SoftNmsResult soft = soft_nms(boxes, scores, params["iou_threshold"], params["sigma"],
                                        params["min_score"], method_of(params["method"]), params["offset"]);
    return {soft.dets, soft.inds};
  }
  EXPECT_EQ(params["op"], "nms");
  nlohmann::json nms_cfg = params;
  nms_cfg.erase("op");
  nms_cfg["class_agnostic"] = true;
  return batched_nms(boxes, scores, Tensor::zeros(scores.shape(), DType::kI64), config_of(nms_cfg));
}

TEST(Nms, AgreesWithReference) {
  const Golden golden = Golden::open("ops/nms");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const NmsResult result = run_case(golden, name);
    EXPECT_TENSOR_EQ(result.keep, golden.tensor(name + "/inds"));
    EXPECT_TENSOR_NEAR(result.dets, golden.tensor(name + "/dets"), 1e-6, 1e-5);
  }
}

TEST(MulticlassNms, AgreesWithReference) {
  const Golden golden = Golden::open("ops/multiclass_nms");
  for (const std::string& name : golden.cases()) {
    SCOPED_TRACE(name);
    const nlohmann::json& params = golden.json()["cases"][name]["params"];
    const Tensor factors =
        golden.has(name + "/score_factors") ? golden.tensor(name + "/score_factors") : Tensor();
    const MulticlassNmsResult result =
        multiclass_nms(golden.tensor(name + "/multi_bboxes"), golden.tensor(name + "/multi_scores"),
                       params["score_thr"], config_of(params["nms_cfg"]), params["max_num"], factors);
    const Tensor& dets = golden.tensor(name + "/dets");
    EXPECT_TENSOR_NEAR(result.dets, dets.empty() ? Tensor({0, 5}, DType::kF32) : dets, 1e-6, 1e-5);
    EXPECT_TENSOR_EQ(result.labels, golden.tensor(name + "/labels"));
    EXPECT_TENSOR_EQ(result.inds, golden.tensor(name + "/inds"));
  }
}

struct Scene {
  Tensor boxes, scores;
};

Scene random_scene(int64_t n, double extent, uint64_t seed) {
  CounterRng rng(seed);
  Scene scene{Tensor({n, 4}, DType::kF32), Tensor({n}, DType::kF32)};
  float* box = scene.boxes.mutable_data<float>();
  for (int64_t i = 0; i < n; ++i, box += 4) {
    const double x = rng.uniform(0, extent), y = rng.uniform(0, extent);
    box[0] = static_cast<float>(x);
    box[1] = static_cast<float>(y);
    box[2] = static_cast<float>(x + rng.uniform(10, 80));
    box[3] = static_cast<float>(y + rng.uniform(10, 80));
    scene.scores.mutable_data<float>()[i] = static_cast<float>(std::floor(rng.uniform(0, 500)) / 500);
  }
  return scene;
}

// The definition, word by word.
std::vector<int64_t> greedy(const Scene& scene, float threshold) {
  std::vector<int64_t> order, kept;
  for (int64_t i = 0; i < scene.scores.numel(); ++i) order.push_back(i);
  const float* score = scene.scores.data<float>();
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
  const auto iou = [&](int64_t i, int64_t j) {
    const float *a = scene.boxes.data<float>() + 4 * i, *b = scene.boxes.data<float>() + 4 * j;
    const float w = std::max(0.f, std::min(a[2], b[2]) - std::max(a[0], b[0]));
    const float h = std::max(0.f, std::min(a[3], b[3]) - std::max(a[1], b[1]));
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h);
  };
  for (const int64_t i : order) {
    bool free = true;
    for (const int64_t j : kept) free = free && !(iou(j, i) > threshold);
    if (free) kept.push_back(i);
  }
  return kept;
}

TEST(Nms, KeepsWhatTheDefinitionKeepsAmongManyBoxes) {
  const Scene scene = random_scene(3001, 600, 1);
  const std::vector<int64_t> expected = greedy(scene, 0.6f);
  EXPECT_GT(expected.size(), 200u);
  EXPECT_EQ(nms(scene.boxes, scene.scores, 0.6).to_vector<int64_t>(), expected);
  const std::vector<int64_t> first(expected.begin(), expected.begin() + 100);
  EXPECT_EQ(nms(scene.boxes, scene.scores, 0.6, 100).to_vector<int64_t>(), first);
}

TEST(Nms, TenThousandBoxesTakeMilliseconds) {
  const Scene scene = random_scene(10000, 1000, 2);
  const auto start = std::chrono::steady_clock::now();
  const int64_t kept = nms(scene.boxes, scene.scores, 0.7).numel();
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", std::to_string(time.count()));
  EXPECT_GT(kept, 1000);
  EXPECT_LT(time.count(), 2000) << "a loop over all pairs, unvectorised, on a busy machine";
}

TEST(BatchedNms, ClassesDoNotSuppressEachOther) {
  const Tensor boxes = Tensor::from<float>({0, 0, 10, 10, 0, 0, 10, 10, 1, 0, 10, 10}, {3, 4});
  const Tensor scores = Tensor::from<float>({0.9f, 0.8f, 0.7f}, {3});
  const Tensor idxs = Tensor::from<int64_t>({0, 1, 0}, {3});
  EXPECT_EQ(batched_nms(boxes, scores, idxs, {}).keep.to_vector<int64_t>(), (std::vector<int64_t>{0, 1}));
}

TEST(Nms, EmptyInputsGiveEmptyResults) {
  const Tensor boxes({0, 4}, DType::kF32), scores({0}, DType::kF32);
  EXPECT_EQ(nms(boxes, scores, 0.5).shape(), Shape{0});
  EXPECT_EQ(batched_nms(boxes, scores, Tensor({0}, DType::kI64), {}).dets.shape(), (Shape{0, 5}));
  EXPECT_EQ(soft_nms(boxes, scores, 0.5, 0.5, 0.1, SoftNmsMethod::kLinear).dets.shape(), (Shape{0, 5}));
  EXPECT_EQ(multiclass_nms(boxes, Tensor({0, 3}, DType::kF32), 0.1, {}, 5).dets.shape(), (Shape{0, 5}));
}

TEST(Nms, NaNBoxesOverlapNothingAndNaNScoresComeLast) {
  const float nan = std::nanf("");
  const Tensor boxes = Tensor::from<float>({0, 0, 10, 10, nan, 0, 10, 10, 0, 0, 10, 10}, {3, 4});
  const Tensor scores = Tensor::from<float>({nan, 0.5f, 0.7f}, {3});
  EXPECT_EQ(nms(boxes, scores, 0.5).to_vector<int64_t>(), (std::vector<int64_t>{2, 1}));
  for (const auto method : {SoftNmsMethod::kNaive, SoftNmsMethod::kLinear, SoftNmsMethod::kGaussian}) {
    const SoftNmsResult soft = soft_nms(boxes, scores, 0.5, 0.5, 0.1, method);
    EXPECT_EQ(soft.inds.to_vector<int64_t>(), (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(soft.dets.data<float>()[9], 0.5f);
  }
  const Tensor both = Tensor::from<float>({nan, nan, 0.5f, 0.5f}, {2, 2});
  EXPECT_EQ(multiclass_nms(boxes.slice(0, 2), both, 0.1, {}, 5).inds.numel(), 1);
}

TEST(NmsConfig, ReadsBothNamesAndRefusesTheRest) {
  EXPECT_EQ(NmsConfig::from(parse_config("{type: nms, iou_thr: 0.7}")).iou_threshold, 0.7);
  const NmsConfig soft = NmsConfig::from(parse_config("{type: soft_nms, min_score: 0.05, method: gaussian}"));
  EXPECT_EQ(soft.type, NmsConfig::Type::kSoftNms);
  EXPECT_EQ(soft.iou_threshold, 0.3);
  EXPECT_EQ(soft.method, SoftNmsMethod::kGaussian);
  EXPECT_THROW(NmsConfig::from(parse_config("{type: nms}")), UserError);
  try {
    NmsConfig::from(parse_config("{type: sof_nms, iou_threshold: 0.5}"));
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("soft_nms"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace osprey
