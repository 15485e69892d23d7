#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/mask/instance_mask.h"
#include "core/tensor/tensor.h"

namespace osprey {

// What the pipeline did to one image (mmdetection's img_metas).
struct ImgMeta {
  std::string filename;   // as opened
  int64_t image_id = -1;  // COCO id
  int64_t dataset_index = -1;
  std::array<int64_t, 2> ori_shape{};             // h, w of the file
  std::array<int64_t, 2> img_shape{};             // h, w after resizing, before padding
  std::array<int64_t, 2> pad_shape{};             // h, w after padding
  std::array<float, 4> scale_factor{1, 1, 1, 1};  // w, h, w, h: network pixels per file pixel
  bool flip = false;
  std::string flip_direction = "horizontal";
};

// What a detector is trained or tested on. Vectors have one entry per image; ground truth is empty in test
// batches.
struct Batch {
  Tensor img;  // f32 (n, h, w, 3), normalised, zero-padded to the largest image of the batch
  std::vector<ImgMeta> img_metas;
  Tensors gt_bboxes;                    // f32 (k, 4) xyxy in network pixels
  Tensors gt_labels;                    // i64 (k), in [0, num_classes)
  Tensors gt_bboxes_ignore;             // f32 (m, 4); empty vector when the pipeline does not collect them
  std::vector<InstanceMasks> gt_masks;  // k masks of the padded size; empty vector when not collected
  Tensor gt_semantic_seg;               // u8 (n, h', w'), 255 = ignore; undefined when not collected
  uint64_t rng_seed = 0;                // names the random stream of this iteration (samplers of the model)

  int64_t size() const { return static_cast<int64_t>(img_metas.size()); }
};

}  // namespace osprey
