#include <opencv2/imgproc.hpp>

#include "core/data/pipelines/img_scale.h"
#include "core/data/pipelines/transform.h"

namespace osprey {
namespace {

// Shrinks the semantic map, if there is one, to the stride of the semantic head (nearest).
class SegRescale final : public Transform {
 public:
  explicit SegRescale(const ConfigNode& cfg) : scale_factor_(cfg.get("scale_factor", 1.0, positive())) {
    cfg.choice("backend", "cv2", {"cv2"});
  }

  bool apply(Sample& sample, CounterRng&) const override {
    cv::Mat& map = sample.gt_semantic_seg;
    if (scale_factor_ == 1 || map.empty()) return true;
    const ImgScale size = rescale_size(map.cols, map.rows, scale_factor_);
    cv::Mat resized;
    cv::resize(map, resized,
               cv::Size(static_cast<int>(std::max<int64_t>(size.w, 1)),
                        static_cast<int>(std::max<int64_t>(size.h, 1))),
               0, 0, cv::INTER_NEAREST);
    map = std::move(resized);
    return true;
  }

 private:
  double scale_factor_;
};

}  // namespace

OSPREY_REGISTER(Transform, SegRescale);

}  // namespace osprey
