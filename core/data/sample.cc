#include "core/data/sample.h"

namespace osprey {
namespace {

// Vectors that were not loaded are empty and stay so.
template <typename T>
void keep_where(std::vector<T>& values, const std::vector<bool>& keep) {
  if (values.empty()) return;
  OSPREY_ASSERT(values.size() == keep.size(), "instances out of step: ", values.size(), " and ", keep.size());
  size_t kept = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) values[kept] = std::move(values[i]);
    ++kept;
  }
  values.resize(kept);
}

}  // namespace

void keep_instances(Sample& sample, const std::vector<bool>& keep) {
  keep_where(sample.gt_bboxes, keep);
  keep_where(sample.gt_labels, keep);
  keep_where(sample.gt_masks, keep);
}

}  // namespace osprey
