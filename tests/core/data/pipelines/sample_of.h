#pragma once

#include <cstring>
#include <memory>
#include <string>

#include "core/config/config.h"
#include "core/data/pipelines/transform.h"
#include "core/tensor/tensor.h"

namespace osprey::testing {

// (h, w) or (h, w, c), u8 or f32, as a matrix of its own.
inline cv::Mat to_mat(const Tensor& image) {
  const int channels = image.rank() == 3 ? static_cast<int>(image.dim(2)) : 1;
  const int depth = image.dtype() == DType::kU8 ? CV_8U : CV_32F;
  cv::Mat mat(static_cast<int>(image.dim(0)), static_cast<int>(image.dim(1)), CV_MAKETYPE(depth, channels));
  std::memcpy(mat.data, image.raw(), image.bytes());
  return mat;
}

inline Tensor to_tensor(const cv::Mat& mat) {
  Shape shape = {mat.rows, mat.cols};
  if (mat.channels() > 1) shape.push_back(mat.channels());
  Tensor tensor(shape, mat.depth() == CV_8U ? DType::kU8 : DType::kF32);
  const cv::Mat dense = mat.isContinuous() ? mat : mat.clone();
  std::memcpy(tensor.mutable_raw(), dense.data, tensor.bytes());
  return tensor;
}

inline std::vector<BBox> to_boxes(const Tensor& boxes) {
  std::vector<BBox> out(static_cast<size_t>(boxes.dim(0)));
  std::memcpy(out.data(), boxes.raw(), boxes.bytes());
  return out;
}

inline Tensor to_tensor(const std::vector<BBox>& boxes) {
  Tensor tensor({static_cast<int64_t>(boxes.size()), 4}, DType::kF32);
  if (!boxes.empty()) std::memcpy(tensor.mutable_raw(), boxes.data(), tensor.bytes());
  return tensor;
}

// A sample whose image has just been loaded.
inline Sample sample_of(const cv::Mat& image) {
  Sample sample;
  auto source = std::make_shared<SampleSource>();
  source->filename = "rendered";
  source->image = image;
  source->h = image.rows;
  source->w = image.cols;
  sample.source = source;
  sample.img = image.clone();
  sample.meta.filename = "rendered";
  sample.meta.ori_shape = sample.meta.img_shape = sample.meta.pad_shape = {image.rows, image.cols};
  return sample;
}

inline std::unique_ptr<Transform> transform_of(const std::string& yaml) {
  return build<Transform>(parse_config(yaml));
}

inline void run_transform(const std::string& yaml, Sample& sample, uint64_t seed = 0) {
  CounterRng rng(seed);
  transform_of(yaml)->apply(sample, rng);
}

}  // namespace osprey::testing
