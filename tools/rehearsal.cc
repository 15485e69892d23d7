#include "tools/rehearsal.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>

#include "core/base/logging.h"
#include "core/data/collate.h"
#include "core/data/data_loader.h"
#include "core/data/pipelines/image_io.h"
#include "core/data/sample.h"
#include "core/detection/num_classes.h"
#include "models/roi_heads/mask_heads/semantic_head.h"

namespace osprey {
namespace {

constexpr int64_t kProbes = 16;      // images that are looked at, spread evenly over the data set
constexpr int64_t kDummySide = 128;  // pixels: a multiple of every stride

// Calls visit(sample) for each probe that the pipeline does not reject. Of unreadable images those end here
// that would end the training, too.
template <typename Visit>
void for_each_probe(const Dataset& dataset, const ConfigNode& config, const Visit& visit) {
  const bool skip = read_loader_options(config["data"]).on_error == OnError::kSkip;
  const int64_t count = std::min(kProbes, dataset.size());
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = i * dataset.size() / count;
    CounterRng rng(/*seed=*/0, /*stream=*/0, static_cast<uint64_t>(index));
    try {
      for (const Sample& sample : dataset.get(index, rng)) visit(sample);
    } catch (const SampleError& error) {
      if (!skip) throw;
      log_warning(error.what());
    }
  }
}

// --- Semantic maps.

SemanticHead* semantic_head_of(Detector& model) {
  for (const auto& [path, module] : model.named_modules()) {
    if (auto* head = dynamic_cast<SemanticHead*>(module)) return head;
  }
  return nullptr;
}

// The map as its file has it: the pipeline's own may have lost small areas.
cv::Mat whole_map(const Sample& sample) {
  const SampleSource& source = *sample.source;
  return source.seg_map.empty() ? source.gt_semantic_seg : read_image(source.seg_map, cv::IMREAD_UNCHANGED);
}

void check_map(const SemanticHead& head, const Sample& sample, const ConfigNode& config) {
  const cv::Mat map = whole_map(sample);
  for (int y = 0; map.type() == CV_8UC1 && y < map.rows; ++y) {
    for (int x = 0; x < map.cols; ++x) {
      const int64_t label = map.at<uint8_t>(y, x);
      if (label < head.num_classes() || label == head.ignore_label()) continue;
      const std::string key = "model." + head.path() + ".num_classes";
      const std::string file = sample.source->seg_map.empty() ? sample.meta.filename : sample.source->seg_map;
      throw UserError(str_cat("the semantic map ", file, " has label ", label, ", but ", key, " is ",
                              head.num_classes(), place_of(config, key), " and ignore_label ",
                              head.ignore_label(), "; set num_classes to the number of classes of the maps"));
    }
  }
}

// --- One dummy image.

// Its sides leave the same remainders as a real image's, so that a missing Pad shows here, too.
std::array<int64_t, 2> dummy_size(const Sample& sample) {
  constexpr int64_t kStride = 32;
  return {kDummySide + sample.img.rows % kStride, kDummySide + sample.img.cols % kStride};
}

// Two objects, with the first and the last class.
void add_objects(int64_t num_classes, Batch& batch) {
  constexpr float kSide = static_cast<float>(kDummySide);
  const std::vector<BBox> boxes = {{8, 8, kSide / 2, kSide / 2},
                                   {kSide / 4, kSide / 8, kSide - 4, kSide - 8}};
  const auto [h, w] = batch.img_metas[0].pad_shape;
  InstanceMasks masks;
  std::vector<float> corners;
  for (const BBox& box : boxes) {
    corners.insert(corners.end(), box.begin(), box.end());
    masks.push_back(from_polygons({{box[0], box[1], box[2], box[1], box[2], box[3], box[0], box[3]}}, h, w));
  }
  if (!batch.gt_bboxes.empty()) batch.gt_bboxes = {Tensor::from(corners, {2, 4})};
  if (!batch.gt_labels.empty()) batch.gt_labels = {Tensor::from({int64_t{0}, num_classes - 1}, {2})};
  if (!batch.gt_bboxes_ignore.empty()) batch.gt_bboxes_ignore = {Tensor(Shape{0, 4}, DType::kF32)};
  if (!batch.gt_masks.empty()) batch.gt_masks = {masks};
}

// A batch with what the pipeline collected of `sample`, but of other size and content.
Batch dummy_batch(const Sample& sample, int64_t num_classes) {
  Batch batch = collate({sample});
  const auto [h, w] = dummy_size(sample);
  ImgMeta& meta = batch.img_metas[0];
  meta.ori_shape = meta.img_shape = meta.pad_shape = {h, w};
  meta.scale_factor = {1, 1, 1, 1};
  if (batch.img.defined()) batch.img = Tensor::zeros({1, h, w, 3}, DType::kF32);
  add_objects(num_classes, batch);
  if (batch.gt_semantic_seg.defined()) {
    const auto shrunk = [](int64_t side, int map, int image) {
      return std::max<int64_t>(1, std::lround(static_cast<double>(side) * map / image));
    };
    batch.gt_semantic_seg = Tensor::zeros({1, shrunk(h, sample.gt_semantic_seg.rows, sample.img.rows),
                                           shrunk(w, sample.gt_semantic_seg.cols, sample.img.cols)},
                                          DType::kU8);
  }
  return batch;
}

int64_t classes_of(const Detector& model, const Dataset& dataset) {
  if (!dataset.classes().empty()) return static_cast<int64_t>(dataset.classes().size());
  const auto heads = model.num_classes_by_head();
  return heads.empty() ? 1 : heads[0].second;
}

void forward(Detector& model, Batch batch) {
  const NoGradGuard no_grad;
  if (batch.img.defined()) batch.img = batch.img.to(model.device());
  model.train(true);
  try {
    model.forward_train(batch);
  } catch (const UserError&) {
    throw;
  } catch (const Error& error) {  // whatever it is, it came of the config
    throw UserError(str_cat("model: an iteration on a dummy image fails: ", error.what()));
  }
  model.discard_buffers();
}

}  // namespace

void check_semantic_labels(Detector& model, const Dataset& dataset, const ConfigNode& config) {
  const SemanticHead* head = semantic_head_of(model);
  if (head == nullptr) return;
  for_each_probe(dataset, config, [&](const Sample& sample) {
    if (sample.collected.count("gt_semantic_seg")) check_map(*head, sample, config);
  });
}

void rehearse(Detector& model, const Dataset& dataset, const ConfigNode& config) {
  bool done = false;
  for_each_probe(dataset, config, [&](const Sample& sample) {
    if (!done) forward(model, dummy_batch(sample, classes_of(model, dataset)));
    done = true;
  });
}

}  // namespace osprey
