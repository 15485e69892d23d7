#include "core/bbox/tblr_bbox_coder.h"

#include <limits>

#include "core/bbox/tblr_kernel.h"

namespace osprey {

DeviceKernel<void(Device, int64_t, const EncodeTblr&)> tblr_encode_kernel("tblr_encode");
DeviceKernel<void(Device, int64_t, const DecodeTblr&)> tblr_decode_kernel("tblr_decode");
DeviceKernel<void(Device, int64_t, const DecodeTblrGrad&)> tblr_decode_grad_kernel("tblr_decode_grad");

namespace {

std::array<float, 4> read_normalizer(const ConfigNode& cfg) {
  const ConfigNode node = cfg.find("normalizer");
  std::array<float, 4> four;
  four.fill(node.is_list() || node.is_null() ? 4.0f : node.as<float>());
  if (node.is_list()) {
    const auto values = node.as<std::vector<double>>();
    if (values.size() != 4) node.fail(str_cat("must be one number or four, holds ", values.size()));
    for (size_t k = 0; k < 4; ++k) four[k] = static_cast<float>(values[k]);
  }
  for (const float value : four) {
    if (!(value > 0)) node.fail("must be > 0");
  }
  return four;
}

void require_boxes(const char* op, const Tensor& bboxes, const Tensor& others) {
  OSPREY_REQUIRE(bboxes.rank() == 2 && bboxes.dim(1) == 4 && others.shape() == bboxes.shape(), op,
                 ": both must be (n, 4), got ", to_string(bboxes.shape()), " and ",
                 to_string(others.shape()));
}

}  // namespace

TBLRBBoxCoder::TBLRBBoxCoder(const ConfigNode& cfg)
    : normalizer_(read_normalizer(cfg)),
      normalize_by_wh_(cfg.get("normalize_by_wh", true)),
      clip_border_(cfg.get("clip_border", true)) {}

TblrScale TBLRBBoxCoder::scale() const {
  return {{normalizer_[0], normalizer_[1], normalizer_[2], normalizer_[3]}, normalize_by_wh_};
}

Tensor TBLRBBoxCoder::encode(const Tensor& bboxes, const Tensor& gt_bboxes) const {
  require_boxes("TBLRBBoxCoder.encode", bboxes, gt_bboxes);
  const Device device = bboxes.device();
  const Tensor priors = bboxes.to(DType::kF32), gts = gt_bboxes.to(device).to(DType::kF32);
  Tensor tblr(bboxes.shape(), DType::kF32, device);
  tblr_encode_kernel(
      device, device, bboxes.dim(0),
      EncodeTblr{scale(), priors.data<float>(), gts.data<float>(), tblr.mutable_data<float>()});
  return tblr;
}

// Without the place for the result. priors, deltas: f32 on one device.
DecodeTblr TBLRBBoxCoder::decoder(const Tensor& priors, const Tensor& deltas,
                                  const std::optional<std::array<int64_t, 2>>& max_shape) const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  DecodeTblr f{scale(), -kInfinity, kInfinity, kInfinity, priors.data<float>(), deltas.data<float>(),
               nullptr};
  if (clip_border_ && max_shape) {
    f.low = 0;
    f.bottom = static_cast<float>((*max_shape)[0]);
    f.right = static_cast<float>((*max_shape)[1]);
  }
  return f;
}

Tensor TBLRBBoxCoder::decode(const Tensor& bboxes, const Tensor& deltas,
                             std::optional<std::array<int64_t, 2>> max_shape) const {
  require_boxes("TBLRBBoxCoder.decode", bboxes, deltas);
  const Device device = deltas.device();
  const Tensor priors = bboxes.to(device).to(DType::kF32), tblr = deltas.to(DType::kF32);
  Tensor boxes(deltas.shape(), DType::kF32, device);
  DecodeTblr f = decoder(priors, tblr, max_shape);
  f.boxes = boxes.mutable_data<float>();
  tblr_decode_kernel(device, device, deltas.dim(0), f);
  return boxes;
}

Variable TBLRBBoxCoder::decode(const Tensor& bboxes, const Variable& deltas,
                               std::optional<std::array<int64_t, 2>> max_shape) const {
  const Device device = deltas.device();
  const Tensor priors = bboxes.to(device).to(DType::kF32), tblr = deltas.value().to(DType::kF32);
  return record("tblr_decode", decode(bboxes, deltas.value(), max_shape), {deltas},
                [coder = *this, priors, tblr, max_shape](const Tensor& g) {
                  const Tensor upstream = g.to(DType::kF32);
                  Tensor grad(tblr.shape(), DType::kF32, tblr.device());
                  tblr_decode_grad_kernel(tblr.device(), tblr.device(), tblr.dim(0),
                                          DecodeTblrGrad{coder.decoder(priors, tblr, max_shape),
                                                         upstream.data<float>(), grad.mutable_data<float>()});
                  return Gradients{grad};
                });
}

OSPREY_REGISTER(BBoxCoder, TBLRBBoxCoder);

}  // namespace osprey
