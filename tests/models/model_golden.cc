#include "tests/models/model_golden.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"

namespace osprey::testing {
namespace {

std::array<int64_t, 2> height_width(const Tensor& shapes, int64_t image) {
  const auto values = shapes[image].to_vector<int64_t>();
  return {values[0], values[1]};
}

InstanceMasks masks_of(const Tensor& bitmaps) {
  InstanceMasks masks;
  for (int64_t i = 0; i < bitmaps.dim(0); ++i) {
    masks.push_back(from_bitmap(bitmaps[i].data<uint8_t>(), bitmaps.dim(1), bitmaps.dim(2)));
  }
  return masks;
}

// Every `step`-th element of a flattened tensor.
Tensor strided(const Tensor& tensor, int64_t step) {
  const std::vector<float> all = tensor.to_vector<float>();
  std::vector<float> taken;
  for (size_t i = 0; i < all.size(); i += static_cast<size_t>(step)) taken.push_back(all[i]);
  return Tensor::from(taken, {static_cast<int64_t>(taken.size())});
}

// relative_l2 of two results of ours: no error of a comparison with the reference.
double relative_change(const Tensor& after, const Tensor& before) {
  const std::vector<double> a = after.to_doubles(), b = before.to_doubles();
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

double l2_norm(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.to_doubles()) sum += value * value;
  return std::sqrt(sum);
}

}  // namespace

ConfigNode golden_model_cfg(const std::string& name) { return model_cfg(Golden::find_file(name + ".yaml")); }

ConfigNode model_cfg(const std::string& path) {
  const ConfigNode root = load_config(path);
  return root["model"].with("train_cfg", root["train_cfg"]).with("test_cfg", root["test_cfg"]);
}

StateDict golden_state(const Golden& weights, const std::string& prefix) {
  StateDict state;
  for (const std::string& name : weights.names(prefix)) {
    state.put(name.substr(prefix.size()), weights.tensor(name));
  }
  return state;
}

void load_golden_weights(Module& module, const Golden& weights, const std::string& prefix) {
  const LoadReport report = module.load_state_dict(golden_state(weights, prefix));
  EXPECT_TRUE(report.clean()) << "missing: " << join(report.missing)
                              << "\nunexpected: " << join(report.unexpected)
                              << "\nmismatched: " << join(report.mismatched);
}

Batch golden_batch(const Golden& inputs) {
  Batch batch;
  batch.img = nchw_to_nhwc(inputs.tensor("img"));
  for (int64_t i = 0; i < batch.img.dim(0); ++i) {
    ImgMeta meta;
    meta.img_shape = height_width(inputs.tensor("img_shape"), i);
    meta.pad_shape = height_width(inputs.tensor("pad_shape"), i);
    meta.ori_shape = height_width(inputs.tensor("ori_shape"), i);
    const auto scale = inputs.tensor("scale_factor")[i].to_vector<float>();
    std::copy_n(scale.begin(), 4, meta.scale_factor.begin());
    batch.img_metas.push_back(meta);
    const std::string suffix = "_" + std::to_string(i);
    batch.gt_bboxes.push_back(inputs.tensor("gt_bboxes" + suffix));
    batch.gt_labels.push_back(inputs.tensor("gt_labels" + suffix));
    batch.gt_masks.push_back(masks_of(inputs.tensor("gt_masks" + suffix)));
    if (inputs.has("gt_bboxes_ignore_0")) {
      batch.gt_bboxes_ignore.push_back(inputs.tensor("gt_bboxes_ignore" + suffix));
    }
  }
  const Tensor& semantic = inputs.tensor("gt_semantic_seg");  // (n, 1, h, w)
  batch.gt_semantic_seg =
      semantic.reshape({semantic.dim(0), semantic.dim(2), semantic.dim(3)}).to(DType::kU8);
  return batch;
}

Batch first_image(const Batch& batch) {
  Batch first;
  first.img = batch.img.slice(0, 1);
  first.img_metas = {batch.img_metas[0]};
  return first;
}

Variable probe_loss(const Variables& outs) {
  Variable loss;
  for (size_t i = 0; i < outs.size(); ++i) {
    const Shape& s = outs[i].shape();
    const bool map = s.size() == 4;
    Tensor probe(map ? Shape{s[0], s[3], s[1], s[2]} : s, DType::kF32);
    float* values = probe.mutable_data<float>();
    for (int64_t k = 0; k < probe.numel(); ++k) {
      values[k] = static_cast<float>(std::sin(0.37 * static_cast<double>(k) + 0.11 * static_cast<double>(i)));
    }
    const Tensor weights = map ? nchw_to_nhwc(probe) : probe;
    const Variable term = mean(outs[i] * Variable(weights.to(outs[i].value().device())));
    loss = loss.defined() ? loss + term : term;
  }
  return loss;
}

double golden_tolerance(double float64_error, double perturbed_change) {
  return std::max({10 * float64_error, 3 * perturbed_change, 1e-5});
}

std::map<std::string, double> measured_sensitivity(Module& module, const std::function<void()>& backward) {
  std::map<std::string, Tensor> weights, gradients;
  const auto run = [&] {
    module.zero_grad();
    backward();
    module.discard_buffers();
  };
  run();
  for (const auto& [name, parameter] : module.named_parameters()) {
    weights[name] = parameter->variable.value().clone();
    if (parameter->variable.grad().defined()) gradients[name] = parameter->variable.grad().clone();
  }
  std::map<std::string, double> largest;
  for (uint64_t draw = 0; draw < 3; ++draw) {
    uint64_t seed = 1000 * draw;
    for (const auto& [name, parameter] : module.named_parameters()) {
      Tensor& value = parameter->variable.mutable_value();
      const Tensor sign = uniform(value.shape(), -1, 1, ++seed);
      for (int64_t i = 0; i < value.numel(); ++i) {
        value.mutable_data<float>()[i] *= sign.data<float>()[i] < 0 ? 1 - 1e-6f : 1 + 1e-6f;
      }
    }
    run();
    for (const auto& [name, parameter] : module.named_parameters()) {
      const auto before = gradients.find(name);
      if (before != gradients.end()) {
        largest[name] = std::max(largest[name], relative_change(parameter->variable.grad(), before->second));
      }
      parameter->variable.mutable_value() = weights[name].clone();
    }
  }
  module.zero_grad();
  return largest;
}

void expect_golden_gradients(Module& module, const Golden& golden,
                             const std::map<std::string, double>& tolerance, double fallback) {
  for (const auto& [name, parameter] : module.named_parameters()) {
    SCOPED_TRACE(name);
    const bool whole = golden.has("grad/" + name);
    if (!whole && !golden.has("grad_sample/" + name)) {
      EXPECT_FALSE(parameter->variable.grad().defined()) << "the reference has no gradient";
      continue;
    }
    ASSERT_TRUE(parameter->variable.grad().defined()) << "no gradient";
    const Tensor grad = parameter->layout.to_reference(parameter->variable.grad());
    const auto found = tolerance.find(name);
    const double allowed = found == tolerance.end() ? fallback : found->second;
    if (whole) {
      EXPECT_LE(relative_l2(grad, golden.tensor("grad/" + name)), allowed);
    } else {
      const Tensor sample = strided(grad, (grad.numel() + 1023) / 1024);
      EXPECT_LE(relative_l2(sample, golden.tensor("grad_sample/" + name)), allowed);
    }
    if (golden.has("grad_norm/" + name)) {
      const double norm = golden.tensor("grad_norm/" + name).item();
      EXPECT_NUMBER_NEAR(l2_norm(grad), norm, 0, allowed);
    }
  }
}

void expect_same_boxes(const Tensor& actual, const Tensor& actual_labels, const Tensor& expected,
                       const Tensor& expected_labels, double box_tolerance, double score_tolerance) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const std::vector<float> a = actual.to_vector<float>(), e = expected.to_vector<float>();
  const auto label = [](const Tensor& labels, int64_t i) {
    return labels.defined() ? labels.data<int64_t>()[i] : 0;
  };
  std::vector<bool> used(actual.dim(0), false);
  Tensor matched(expected.shape(), DType::kF32);  // actual in the order of expected
  for (int64_t i = 0; i < expected.dim(0); ++i) {
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t j = 0; j < actual.dim(0); ++j) {
      if (used[j] || label(actual_labels, j) != label(expected_labels, i)) continue;
      double distance = 0;
      for (int c = 0; c < 4; ++c)
        distance = std::max<double>(distance, std::abs(a[j * 5 + c] - e[i * 5 + c]));
      if (distance < least) {
        least = distance;
        best = j;
      }
    }
    ASSERT_GE(best, 0) << "no partner for row " << i;
    used[best] = true;
    std::copy_n(a.data() + best * 5, 5, matched.mutable_data<float>() + i * 5);
    EXPECT_LE(least, box_tolerance) << "row " << i;
    EXPECT_NEAR(a[best * 5 + 4], e[i * 5 + 4], score_tolerance) << "row " << i;
  }
  EXPECT_LE(relative_l2(matched, expected), 1e-4);
}

}  // namespace osprey::testing
