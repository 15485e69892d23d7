#include "core/backend/cuda/launch.cuh"
#include "core/bbox/max_iou_kernel.h"

namespace osprey {
namespace {

constexpr int64_t kTileBoxes = 512;

// u8 (n), undefined when nothing can be ignored.
Tensor mark_ignored(const MaxIoUArgs& args) {
  if (!args.regions.defined()) return {};
  const int64_t n = args.boxes.dim(0);
  Tensor ignored({n}, DType::kU8, args.boxes.device());
  parallel_for_cuda(args.boxes.device(), n,
                    MarkIgnored{args.boxes.data<float>(), args.regions.data<float>(), args.regions.dim(0),
                                args.rules.ignore_iof_thr, args.rules.ignore_wrt_candidates,
                                ignored.mutable_data<uint8_t>()});
  return ignored;
}

void max_iou_assign_cuda(MaxIoUArgs& args) {
  const Device device = args.boxes.device();
  const int64_t n = args.boxes.dim(0), k = args.gts.dim(0), tiles = (n + kTileBoxes - 1) / kTileBoxes;
  const Tensor ignored = mark_ignored(args);
  const AssignedOverlap overlap{args.gts.data<float>(), args.boxes.data<float>(),
                                ignored.defined() ? ignored.data<uint8_t>() : nullptr};
  static_assert(sizeof(GtBest) == 16);
  Tensor best({(tiles + 1) * k, 16}, DType::kU8, device);
  GtBest* by_tile = reinterpret_cast<GtBest*>(best.mutable_data<uint8_t>());
  GtBest* of_all = by_tile + tiles * k;
  parallel_for_cuda(device, tiles * k, TileBest{overlap, n, k, kTileBoxes, by_tile});
  parallel_for_cuda(device, k, FoldBest{by_tile, tiles, k, of_all});
  const bool labelled = args.labels.defined();
  parallel_for_cuda(
      device, n,
      AssignBox{args.rules, overlap, k, of_all, labelled ? args.gt_labels.data<int64_t>() : nullptr,
                args.gt_inds.mutable_data<int64_t>(), args.max_overlaps.mutable_data<float>(),
                labelled ? args.labels.mutable_data<int64_t>() : nullptr});
}

OSPREY_REGISTER_KERNEL(max_iou_assign_kernel, DeviceType::kCUDA, max_iou_assign_cuda);

}  // namespace
}  // namespace osprey
