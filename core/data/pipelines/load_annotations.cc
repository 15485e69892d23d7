#include <opencv2/imgcodecs.hpp>

#include "core/data/pipelines/image_io.h"
#include "core/data/pipelines/transform.h"
#include "core/mask/instance_mask.h"

namespace osprey {
namespace {

// Copies the annotations of the dataset into the sample. With `poly2mask` (the default, as in mmdetection)
// polygons become bitmaps at the size of the file, and are resized as bitmaps.
class LoadAnnotations final : public Transform {
 public:
  explicit LoadAnnotations(const ConfigNode& cfg)
      : with_bbox_(cfg.get("with_bbox", true)),
        with_label_(cfg.get("with_label", true)),
        with_mask_(cfg.get("with_mask", false)),
        with_seg_(cfg.get("with_seg", false)),
        poly2mask_(cfg.get("poly2mask", true)) {
    const ConfigNode file_client = cfg.find("file_client_args");
    if (!file_client.is_null()) file_client.choice("backend", "disk", {"disk"});
  }

  bool apply(Sample& sample, CounterRng&) const override {
    const SampleSource& source = *sample.source;
    if (with_bbox_) {
      sample.gt_bboxes = source.bboxes;
      sample.gt_bboxes_ignore = source.bboxes_ignore;
    }
    if (with_label_) sample.gt_labels = source.labels;
    if (with_mask_) sample.gt_masks = load_masks(source);
    if (with_seg_) sample.gt_semantic_seg = load_semantic_seg(source);
    return true;
  }

  void check_keys(SampleKeys& keys, const ConfigNode&) const override {
    if (with_bbox_) keys.insert({"gt_bboxes", "gt_bboxes_ignore"});
    if (with_label_) keys.insert("gt_labels");
    if (with_mask_) keys.insert("gt_masks");
    if (with_seg_) keys.insert("gt_semantic_seg");
  }

 private:
  InstanceMasks load_masks(const SampleSource& source) const {
    InstanceMasks masks;
    for (size_t i = 0; i < source.masks.size(); ++i) {
      const InstanceMask& mask = source.masks[i];
      if (mask.h == 0) {
        throw SampleError(source.filename,
                          str_cat("annotation ", source.ann_ids[i],
                                  " has no usable segmentation, but with_mask asks for one"));
      }
      masks.push_back(poly2mask_ ? from_rle(to_rle(mask)) : mask);
    }
    return masks;
  }

  cv::Mat load_semantic_seg(const SampleSource& source) const {
    if (!source.gt_semantic_seg.empty()) return source.gt_semantic_seg.clone();
    const cv::Mat map = read_image(source.seg_map, cv::IMREAD_UNCHANGED);
    if (map.type() != CV_8UC1) {
      throw SampleError(source.seg_map,
                        str_cat("a semantic map must have one channel of 8 bits, this one has ",
                                map.channels(), " of ", map.elemSize1() * 8));
    }
    if (map.rows != source.h || map.cols != source.w) {
      throw SampleError(source.seg_map, str_cat("is ", map.cols, "x", map.rows, ", its image ", source.w, "x",
                                                source.h, " pixels"));
    }
    return map;
  }

  bool with_bbox_, with_label_, with_mask_, with_seg_, poly2mask_;
};

}  // namespace

OSPREY_REGISTER(Transform, LoadAnnotations);

}  // namespace osprey
