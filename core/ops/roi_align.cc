#include "core/ops/roi_align.h"

#include "core/ops/roi_align_launch.h"

namespace osprey {

DeviceKernel<void(RoIAlignArgs&)> roi_align_kernel("roi_align");
DeviceKernel<void(RoIAlignArgs&)> roi_align_grad_kernel("roi_align");

namespace {

void check_params(const std::vector<RoIAlignParams>& params, size_t levels) {
  OSPREY_REQUIRE(levels >= 1 && levels <= kMaxRoILevels && params.size() == levels, "roi_align: ", levels,
                 " maps with ", params.size(), " parameter sets; 1 to ", kMaxRoILevels,
                 " of each are allowed");
  const RoIAlignParams& first = params.front();
  for (const RoIAlignParams& p : params) {
    OSPREY_REQUIRE(p.out_h == first.out_h && p.out_w == first.out_w && p.max_pool == first.max_pool,
                   "roi_align: the levels disagree in output size or pool mode");
    OSPREY_REQUIRE(p.out_h > 0 && p.out_w > 0 && p.sampling_ratio >= 0, "roi_align: output ", p.out_h, "x",
                   p.out_w, ", sampling_ratio ", p.sampling_ratio);
  }
}

void check_maps(const Variables& feats) {
  const Variable& first = feats.front();
  for (const Variable& feat : feats) {
    OSPREY_REQUIRE(feat.value().rank() == 4 && feat.dtype() == first.dtype() && feat.dim(3) == first.dim(3) &&
                       feat.dim(1) > 0 && feat.dim(2) > 0,
                   "roi_align: feats must be (n, h, w, c) of one c and dtype, got ", describe(feat.value()),
                   " beside ", describe(first.value()));
  }
}

// RoIs on a GPU are not looked at: that would stall it.
void check_rois(const Tensor& rois, const Tensor& level, const Variables& feats) {
  OSPREY_REQUIRE(rois.rank() == 2 && rois.dim(1) == 5, "roi_align: rois must be (k, 5), got ",
                 to_string(rois.shape()));
  OSPREY_REQUIRE(!level.defined() || level.shape() == Shape{rois.dim(0)}, "roi_align: level must be (",
                 rois.dim(0), "), got ", to_string(level.shape()));
  if (rois.device().is_cuda()) return;
  const int64_t levels = static_cast<int64_t>(feats.size()), images = feats.front().dim(0);
  for (int64_t i = 0; i < rois.dim(0); ++i) {
    const float image = rois.data<float>()[5 * i];
    OSPREY_REQUIRE(!(image < 0) && !(image >= static_cast<float>(images)), "roi_align: RoI ", i,
                   " names image ", image, ", there are ", images);
    const int64_t l = level.defined() ? level.data<int64_t>()[i] : 0;
    OSPREY_REQUIRE(l >= 0 && l < levels, "roi_align: RoI ", i, " names level ", l, ", there are ", levels);
  }
}

// Sums in f32; the tape rounds once to the features' dtype.
Gradients backward(RoIAlignArgs args, const std::vector<Shape>& shapes, const Tensor& grad) {
  const DType dtype = grad.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  for (const Shape& shape : shapes) args.maps.push_back(Tensor::zeros(shape, dtype, grad.device()));
  args.pooled = grad;
  if (!grad.empty()) roi_align_grad_kernel(grad.device(), args);
  return args.maps;
}

}  // namespace

Variable roi_align(const Variable& feats, const Tensor& rois, const RoIAlignParams& params) {
  return roi_align_levels({feats}, rois, {}, {params});
}

Variable roi_align_levels(const Variables& feats, const Tensor& rois, const Tensor& level,
                          const std::vector<RoIAlignParams>& params) {
  const OpScope scope("roi_align");
  check_params(params, feats.size());
  check_maps(feats);
  check_rois(rois, level, feats);
  RoIAlignArgs args;
  std::vector<Shape> shapes;
  for (const Variable& feat : feats) {
    args.maps.push_back(feat.value());
    shapes.push_back(feat.shape());
  }
  const Device device = feats.front().device();
  args.rois = rois.to(device);
  args.level = level.defined() ? level.to(device) : Tensor();
  args.params = params;
  args.pooled =
      Tensor({rois.dim(0), params[0].out_h, params[0].out_w, feats[0].dim(3)}, feats[0].dtype(), device);
  if (params[0].max_pool) args.argmax = Tensor(args.pooled.shape(), DType::kI32, device);
  if (!args.pooled.empty()) roi_align_kernel(device, args);
  const Tensor pooled = args.pooled;
  args.maps.clear();
  args.pooled = Tensor();
  return record("roi_align", pooled, feats,
                [args, shapes](const Tensor& grad) { return backward(args, shapes, grad); });
}

}  // namespace osprey
