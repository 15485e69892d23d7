#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/detectors/two_stage_detector.h"
#include "tests/models/model_golden.h"

// HTC R50 FPN at its true width. The weights are not stored: they follow the formula of the golden README.
namespace osprey::testing {
namespace {

// U(name)[k] in [0, 1).
double formula_uniform(uint32_t name_hash, uint32_t k) {
  uint32_t x = k * 0x9E3779B9u + name_hash;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  x ^= x >> 16;
  return x * 0x1p-32;
}

uint32_t fnv1a(const std::string& text) {
  uint32_t hash = 2166136261u;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 16777619u;
  return hash;
}

// offset + amplitude * s, s uniform in [-1, 1).
struct Range {
  double offset, amplitude;
};

Range formula_range(const std::string& name, const Shape& shape, const nlohmann::json& scale_rules) {
  if (ends_with(name, "running_mean")) return {0, 0.1};
  if (ends_with(name, "running_var")) return {1, 0.5};
  if (shape.size() < 2) return ends_with(name, "weight") ? Range{0.7, 0.2} : Range{0, 0.1};
  double scale = std::sqrt(6.0 / static_cast<double>(numel_of(shape) / shape[0]));
  for (const auto& rule : scale_rules) {
    if (name.find(rule[0].get<std::string>()) != std::string::npos) scale *= rule[1].get<double>();
  }
  return {0, scale};
}

StateDict formula_weights(Module& module, const nlohmann::json& json) {
  const std::string salt = json["salt"];
  const StateDict drawn_to = module.state_dict();
  StateDict weights;
  for (const auto& [name, tensor] : drawn_to.entries()) {
    if (ends_with(name, "num_batches_tracked")) {
      weights.put(name, Tensor::zeros_like(tensor));
      continue;
    }
    const Range range = formula_range(name, tensor.shape(), json["scale_rules"]);
    const uint32_t hash = fnv1a(salt + name);
    Tensor drawn(tensor.shape(), DType::kF32);
    float* values = drawn.mutable_data<float>();
    for (int64_t k = 0; k < drawn.numel(); ++k) {
      const double s = 2 * formula_uniform(hash, static_cast<uint32_t>(k)) - 1;
      values[k] = static_cast<float>(range.offset + range.amplitude * s);
    }
    weights.put(name, drawn);
  }
  return weights;
}

Tensor first64(const Tensor& tensor) {
  const Tensor flat = tensor.reshape({-1});
  return flat.slice(0, std::min<int64_t>(64, flat.numel()));
}

double l2_norm(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.to_doubles()) sum += value * value;
  return std::sqrt(sum);
}

class FullSizeHTC : public ::testing::Test {
 protected:
  void SetUp() override {
    golden_ = Golden::open("full/htc_r50_fpn_formula");
    detector_ = build<Detector>(golden_model_cfg("full/htc_r50_fpn_formula"));
    const StateDict weights = formula_weights(*detector_, golden_.json());
    for (const std::string& name : golden_.names("weight_first64/")) {
      ASSERT_TENSOR_NEAR(first64(*weights.find(name.substr(15))), golden_.tensor(name), 0, 0) << name;
    }
    ASSERT_TRUE(detector_->load_state_dict(weights).clean());
    batch_ = golden_batch(Golden::open("detectors/inputs"));
  }

  Golden golden_;
  std::unique_ptr<Detector> detector_;
  Batch batch_;
};

TEST_F(FullSizeHTC, LossesAndGradientsMatchTheReference) {
  detector_->train();
  const LossDict losses = detector_->forward_train(batch_);
  for (const auto& [name, value] : losses.entries()) {
    const double expected = golden_.tensor("loss/" + name).item();
    EXPECT_NEAR(value.value().item(), expected, 1e-4 * std::abs(expected)) << name;
    RecordProperty(name, str_cat(std::abs(value.value().item() - expected) / std::max(1e-30, expected)));
  }
  losses.total().backward();

  std::map<std::string, Tensor> gradients;
  for (const auto& [name, parameter] : detector_->named_parameters()) {
    const Tensor& grad = parameter->variable.grad();
    if (grad.defined()) gradients[name] = parameter->layout.to_reference(grad);
  }
  const auto& names = golden_.json()["grad_names"];
  const Tensor& norms = golden_.tensor("grad_norms");
  ASSERT_EQ(gradients.size(), names.size());
  const double float64_error = golden_.json()["float64_minus_float32"]["grad"];
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    const double change = golden_.json()["perturbed_1e6_grad_change"].value(name, 0.0);
    const double allowed = golden_tolerance(float64_error, change);
    const double norm = norms.to_doubles()[i];
    ASSERT_TRUE(gradients.count(name)) << name;
    EXPECT_NEAR(l2_norm(gradients[name]), norm, allowed * norm) << name;
  }
}

TEST_F(FullSizeHTC, DetectionsMatchTheReference) {
  const Golden expected = Golden::open("full/htc_r50_fpn_formula.test");
  detector_->train(false);
  const DetectionResult result = detector_->simple_test(first_image(batch_), /*rescale=*/true).at(0);
  ASSERT_EQ(result.bboxes.dim(0), expected.tensor("dets").dim(0));
  Tensor dets({result.bboxes.dim(0), 5}, DType::kF32);
  for (int64_t i = 0; i < dets.dim(0); ++i) {
    float* row = dets.mutable_data<float>() + i * 5;
    std::copy_n(result.bboxes.data<float>() + i * 4, 4, row);
    row[4] = result.scores.data<float>()[i];
  }
  expect_same_boxes(dets, result.labels, expected.tensor("dets"), expected.tensor("labels"), 5e-3, 2e-5);

  const Tensor& bits = expected.tensor("masks");  // (n, 1500) bytes of 8 pixels, least significant first
  int64_t different = 0, pixels = 0;
  for (int64_t i = 0; i < bits.dim(0); ++i) {
    const Tensor bitmap = to_bitmap(from_rle(result.masks[i]));
    pixels += bitmap.numel();
    for (int64_t k = 0; k < bitmap.numel(); ++k) {
      const int bit = bits[i].data<uint8_t>()[k / 8] >> (k % 8) & 1;
      different += bit != bitmap.data<uint8_t>()[k];
    }
  }
  EXPECT_LE(different, pixels / 20000);
}

}  // namespace
}  // namespace osprey::testing
