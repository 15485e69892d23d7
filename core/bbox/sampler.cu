#include "core/backend/cuda/launch.cuh"
#include "core/bbox/sampler_kernel.h"

namespace osprey {
namespace {

struct FlagAssigned {
  const int64_t* gt_inds;
  bool background;
  uint8_t* flags;
  OSPREY_HD void operator()(int64_t i) const { flags[i] = background ? gt_inds[i] == 0 : gt_inds[i] > 0; }
};

struct GatherSample {
  const int64_t *places, *rows;
  int64_t leading, added, columns;
  const float *boxes, *gts;
  const int64_t *assigned, *labels, *gt_labels;
  int64_t* inds;
  float* bboxes;
  int64_t* gt_inds;
  float* gt_bboxes;
  int64_t* sampled_labels;

  OSPREY_HD int64_t row_of(int64_t place) const {
    if (rows == nullptr || place < leading) return place;
    return rows[place - leading] + added;
  }
  OSPREY_HD void operator()(int64_t i) const {
    const int64_t row = row_of(places == nullptr ? i : places[i]);
    const bool is_gt = row < added;
    const float* box = is_gt ? gts + 4 * row : boxes + columns * (row - added);
    inds[i] = row;
    for (int k = 0; k < 4; ++k) bboxes[4 * i + k] = box[k];
    if (gt_inds == nullptr) return;
    const int64_t gt = is_gt ? row : assigned[row - added] - 1;
    gt_inds[i] = gt;
    for (int k = 0; k < 4; ++k) gt_bboxes[4 * i + k] = gts[4 * gt + k];
    if (sampled_labels != nullptr) sampled_labels[i] = is_gt ? gt_labels[row] : labels[row - added];
  }
};

template <typename T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}
template <typename T>
T* mutable_or_null(Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data<T>() : nullptr;
}

void flag_assigned_cuda(const Tensor& gt_inds, bool background, Tensor& flags) {
  parallel_for_cuda(gt_inds.device(), gt_inds.numel(),
                    FlagAssigned{gt_inds.data<int64_t>(), background, flags.mutable_data<uint8_t>()});
}

void gather_samples_cuda(const SampleArgs& args, Samples& samples) {
  parallel_for_cuda(
      args.boxes.device(), samples.inds.numel(),
      GatherSample{data_or_null<int64_t>(args.places), data_or_null<int64_t>(args.rows), args.leading,
                   args.added, args.boxes.dim(1), args.boxes.data<float>(), args.gts.data<float>(),
                   args.gt_inds.data<int64_t>(), data_or_null<int64_t>(args.labels),
                   data_or_null<int64_t>(args.gt_labels), samples.inds.mutable_data<int64_t>(),
                   samples.bboxes.mutable_data<float>(), mutable_or_null<int64_t>(samples.gt_inds),
                   mutable_or_null<float>(samples.gt_bboxes), mutable_or_null<int64_t>(samples.gt_labels)});
}

OSPREY_REGISTER_KERNEL(flag_assigned_kernel, DeviceType::kCUDA, flag_assigned_cuda);
OSPREY_REGISTER_KERNEL(gather_samples_kernel, DeviceType::kCUDA, gather_samples_cuda);

}  // namespace
}  // namespace osprey
