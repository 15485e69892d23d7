#include "core/data/collate.h"

#include <algorithm>
#include <cstring>

namespace osprey {
namespace {

// Rows and columns that hold every sample's matrix.
std::array<int64_t, 2> largest(const Samples& samples, const cv::Mat Sample::*field) {
  std::array<int64_t, 2> size{};
  for (const Sample& sample : samples) {
    size[0] = std::max<int64_t>(size[0], (sample.*field).rows);
    size[1] = std::max<int64_t>(size[1], (sample.*field).cols);
  }
  return size;
}

// Copies matrix i into the top left corner of row i of `stacked` (n, h, w, ...).
void copy_rows(const cv::Mat& from, Tensor stacked, int64_t i) {
  const size_t pixel = from.elemSize();
  const int64_t w = stacked.dim(2);
  auto* to = static_cast<char*>(stacked.mutable_raw()) + static_cast<size_t>(i * stacked.dim(1) * w) * pixel;
  for (int y = 0; y < from.rows; ++y) {
    std::memcpy(to + static_cast<size_t>(y * w) * pixel, from.ptr(y), static_cast<size_t>(from.cols) * pixel);
  }
}

Tensor stack_images(const Samples& samples) {
  const auto [h, w] = largest(samples, &Sample::img);
  Tensor stacked = Tensor::zeros({static_cast<int64_t>(samples.size()), h, w, 3}, DType::kF32);
  for (size_t i = 0; i < samples.size(); ++i) {
    cv::Mat img = samples[i].img;
    if (img.depth() != CV_32F) img.convertTo(img, CV_32F);
    copy_rows(img, stacked, static_cast<int64_t>(i));
  }
  return stacked;
}

Tensor stack_semantic_segs(const Samples& samples) {
  const auto [h, w] = largest(samples, &Sample::gt_semantic_seg);
  Tensor stacked = Tensor::full({static_cast<int64_t>(samples.size()), h, w}, 255, DType::kU8);
  for (size_t i = 0; i < samples.size(); ++i) {
    copy_rows(samples[i].gt_semantic_seg, stacked, static_cast<int64_t>(i));
  }
  return stacked;
}

Tensor to_tensor(const std::vector<BBox>& boxes) {
  Tensor tensor({static_cast<int64_t>(boxes.size()), 4}, DType::kF32);
  if (!boxes.empty()) std::memcpy(tensor.mutable_raw(), boxes.data(), boxes.size() * sizeof(BBox));
  return tensor;
}

InstanceMasks padded(const InstanceMasks& masks, int64_t h, int64_t w) {
  InstanceMasks out;
  for (const InstanceMask& mask : masks) out.push_back(mask.h == h && mask.w == w ? mask : pad(mask, h, w));
  return out;
}

}  // namespace

Batch collate(const Samples& samples) {
  OSPREY_ASSERT(!samples.empty(), "collate: no samples");
  const std::set<std::string>& keys = samples[0].collected;
  Batch batch;
  if (keys.count("img")) batch.img = stack_images(samples);
  if (keys.count("gt_semantic_seg")) batch.gt_semantic_seg = stack_semantic_segs(samples);
  const auto [h, w] = largest(samples, &Sample::img);
  for (const Sample& sample : samples) {
    batch.img_metas.push_back(sample.meta);
    if (keys.count("gt_bboxes")) batch.gt_bboxes.push_back(to_tensor(sample.gt_bboxes));
    if (keys.count("gt_bboxes_ignore")) batch.gt_bboxes_ignore.push_back(to_tensor(sample.gt_bboxes_ignore));
    if (keys.count("gt_masks")) batch.gt_masks.push_back(padded(sample.gt_masks, h, w));
    if (keys.count("gt_labels")) {
      batch.gt_labels.push_back(
          Tensor::from(sample.gt_labels, {static_cast<int64_t>(sample.gt_labels.size())}));
    }
  }
  return batch;
}

}  // namespace osprey
