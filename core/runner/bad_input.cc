#include "core/runner/bad_input.h"

#include <algorithm>
#include <cmath>

namespace osprey {
namespace {

// Flat index -> "pixel (x 3, y 5) of channel 0" of an (n, h, w, c) tensor; the image goes to *n.
std::string pixel_at(const Tensor& img, int64_t index, int64_t* n) {
  const int64_t h = img.dim(1), w = img.dim(2), c = img.dim(3);
  *n = index / (h * w * c);
  return str_cat("pixel (x ", index / c % w, ", y ", index / (c * w) % h, ") of channel ", index % c);
}

int64_t first_nonfinite_index(const Tensor& tensor) {
  const Tensor host = tensor.to(DType::kF32).to(kCPU);
  const float* x = host.data<float>();
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

std::string file_of(const Batch& batch, size_t image) {
  const bool known = image < batch.img_metas.size();
  return known ? "file " + batch.img_metas[image].filename : str_cat("image ", image, " of the batch");
}

// The first box without width or height, or -1.
int64_t first_without_extent(const std::vector<double>& corners) {
  for (size_t i = 0; i + 3 < corners.size(); i += 4) {
    if (corners[i + 2] <= corners[i] || corners[i + 3] <= corners[i + 1]) return static_cast<int64_t>(i / 4);
  }
  return -1;
}

int64_t most_classes(const Detector& model) {
  int64_t most = 0;
  for (const auto& [path, classes] : model.num_classes_by_head()) most = std::max(most, classes);
  return most;
}

// "label 80 of box 1 is none of the model's 80 classes", or "".
std::string odd_label(const std::vector<double>& labels, int64_t classes) {
  for (size_t i = 0; i < labels.size() && classes > 0; ++i) {
    if (labels[i] < 0 || labels[i] >= static_cast<double>(classes))
      return str_cat("label ", labels[i], " of box ", i, " is none of the model's ", classes, " classes");
  }
  return "";
}

}  // namespace

std::string describe_bad_input(const Batch& batch) {
  if (batch.img.defined() && batch.img.rank() == 4) {
    const int64_t bad = first_nonfinite_index(batch.img);
    if (bad >= 0) {
      int64_t image = 0;
      const std::string pixel = pixel_at(batch.img, bad, &image);
      return str_cat(file_of(batch, static_cast<size_t>(image)), ": ", pixel, " is ", batch.img.item_at(bad));
    }
  }
  for (size_t i = 0; i < batch.gt_bboxes.size(); ++i) {
    const int64_t bad = first_nonfinite_index(batch.gt_bboxes[i]);
    if (bad >= 0) {
      return str_cat(file_of(batch, i), ": box ", bad / 4, " has the coordinate ",
                     batch.gt_bboxes[i].item_at(bad));
    }
  }
  return "";
}

std::string describe_odd_input(const Batch& batch, const Detector& model) {
  for (size_t i = 0; i < batch.gt_bboxes.size(); ++i) {
    const std::vector<double> corners = batch.gt_bboxes[i].to_doubles();
    const int64_t bad = first_without_extent(corners);
    if (bad < 0) continue;
    const auto box = corners.begin() + 4 * bad;
    return str_cat(file_of(batch, i), ": box ", bad, " (", join(std::vector<double>(box, box + 4)),
                   ") has no extent");
  }
  for (size_t i = 0; i < batch.gt_labels.size(); ++i) {
    const std::string odd = odd_label(batch.gt_labels[i].to_doubles(), most_classes(model));
    if (!odd.empty()) return file_of(batch, i) + ": " + odd;
  }
  return "";
}

std::string image_files(const Batch& batch) {
  std::vector<std::string> names;
  for (const ImgMeta& meta : batch.img_metas) names.push_back(meta.filename);
  return join(names);
}

}  // namespace osprey
