#include "tests/models/tiny_detector.h"

#include <algorithm>

#include "core/base/logging.h"

namespace osprey::testing {

std::unique_ptr<Detector> make_detector(const std::string& name, const std::vector<std::string>& overrides) {
  const ConfigNode root = load_config(Golden::shipped_file("detectors/" + name + ".yaml"), overrides);
  set_log_level("ERROR");  // the warning of frozen parts drawn at random is expected
  auto detector =
      build<Detector>(root["model"].with("train_cfg", root["train_cfg"]).with("test_cfg", root["test_cfg"]));
  detector->init_weights(11);
  detector->train();
  return detector;
}

Batch make_batch() { return golden_batch(Golden::open_shipped("detectors/inputs")); }

void remove_objects(Batch& batch, size_t image) {
  batch.gt_bboxes[image] = Tensor({0, 4}, DType::kF32);
  batch.gt_labels[image] = Tensor({0}, DType::kI64);
  batch.gt_masks[image].clear();
}

std::vector<std::string> names_of(const LossDict& losses) {
  std::vector<std::string> names;
  for (const auto& [name, value] : losses.entries()) names.push_back(name);
  return names;
}

double total_of(const LossDict& losses) { return losses.total().value().item(); }

void expect_finite_losses_and_gradients(Detector& detector, const LossDict& losses) {
  for (const auto& [name, value] : losses.entries()) EXPECT_TRUE(all_finite(value.value())) << name;
  losses.total().backward();
  for (const auto& [name, parameter] : detector.named_parameters()) {
    if (!parameter->requires_grad()) continue;
    ASSERT_TRUE(parameter->variable.grad().defined()) << name << " has no gradient";
    EXPECT_TRUE(all_finite(parameter->variable.grad())) << name;
  }
}

std::string user_error(Detector& detector, const Batch& batch) {
  try {
    detector.forward_train(batch);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

Batch mirrored(const Batch& batch) {
  Batch flipped = batch;
  const Shape& s = batch.img.shape();
  flipped.img = Tensor(s, DType::kF32);
  for (int64_t row = 0; row < s[0] * s[1]; ++row) {
    for (int64_t x = 0; x < s[2]; ++x) {
      std::copy_n(batch.img.data<float>() + (row * s[2] + x) * s[3], s[3],
                  flipped.img.mutable_data<float>() + (row * s[2] + s[2] - 1 - x) * s[3]);
    }
  }
  for (ImgMeta& meta : flipped.img_metas) meta.flip = true;
  return flipped;
}

void expect_flipped_results_to_be_flipped_back(Detector& detector) {
  Batch batch = first_image(make_batch());
  ImgMeta& meta = batch.img_metas[0];  // no padding, which mirroring would move to the left
  meta.img_shape = meta.pad_shape = meta.ori_shape = {128, 160};
  meta.scale_factor = {1, 1, 1, 1};
  const DetectionResult direct = detector.aug_test({mirrored(batch)}, true).at(0);
  Batch unflipped = mirrored(batch);
  unflipped.img_metas[0].flip = false;
  const DetectionResult seen = detector.aug_test({unflipped}, true).at(0);
  ASSERT_EQ(direct.bboxes.dim(0), seen.bboxes.dim(0));
  for (int64_t i = 0; i < seen.bboxes.dim(0); ++i) {
    const float *a = direct.bboxes.data<float>() + i * 4, *b = seen.bboxes.data<float>() + i * 4;
    EXPECT_NEAR(a[0], 160 - b[2], 1e-3);
    EXPECT_NEAR(a[2], 160 - b[0], 1e-3);
    EXPECT_NEAR(a[1], b[1], 1e-3);
  }
  for (size_t i = 0; i < seen.masks.size(); ++i) {
    const double total = area(flip_horizontal(from_rle(seen.masks[i])));
    EXPECT_NEAR(area(from_rle(direct.masks[i])), total, 2 + 0.02 * total);
  }
}

}  // namespace osprey::testing
