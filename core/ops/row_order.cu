#include "core/backend/cuda/launch.cuh"
#include "core/backend/cuda/memory.h"
#include "core/ops/row_order_kernel.h"
#ifdef __CUDACC__
#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#else
#include <algorithm>
#endif

namespace osprey {
namespace {

struct RankRow {
  const float* scores;
  uint32_t* keys;
  int64_t* rows;
  OSPREY_HD void operator()(int64_t i) const {
    keys[i] = rank_key(scores[i]);
    rows[i] = i;
  }
};

struct Keyed {
  uint32_t *keys, *sorted_keys;
  int64_t *rows, *sorted_rows;
  int64_t n;
};

#ifdef __CUDACC__

// CUB is asked twice: for the size of its workspace, then for the work.
template <typename Call>
void with_workspace(Device device, const Call& call) {
  size_t bytes = 0;
  OSPREY_CUDA(call(nullptr, bytes));
  const CudaWorkspace workspace(bytes, device);
  OSPREY_CUDA(call(workspace.data(), bytes));
}

void sort_by_key(Device device, const Keyed& k) {
  with_workspace(device, [&](void* workspace, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, k.keys, k.sorted_keys, k.rows, k.sorted_rows,
                                           k.n, 0, 32, current_stream(device));
  });
}

void select_flagged(Device device, const uint8_t* flags, int64_t n, int64_t* rows, int64_t* count) {
  with_workspace(device, [&](void* workspace, size_t& bytes) {
    return cub::DeviceSelect::Flagged(workspace, bytes, thrust::counting_iterator<int64_t>(0), flags, rows,
                                      count, n, current_stream(device));
  });
}

#else

struct SortOnHost {
  Keyed k;
  void operator()(int64_t) const {
    std::copy_n(k.rows, k.n, k.sorted_rows);
    std::stable_sort(k.sorted_rows, k.sorted_rows + k.n,
                     [this](int64_t a, int64_t b) { return k.keys[a] < k.keys[b]; });
  }
};

void sort_by_key(Device device, const Keyed& k) { parallel_for_cuda(device, 1, SortOnHost{k}); }

struct SelectOnHost {
  const uint8_t* flags;
  int64_t n;
  int64_t *rows, *count;
  void operator()(int64_t) const {
    *count = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (flags[i] != 0) rows[(*count)++] = i;
    }
  }
};

void select_flagged(Device device, const uint8_t* flags, int64_t n, int64_t* rows, int64_t* count) {
  parallel_for_cuda(device, 1, SelectOnHost{flags, n, rows, count});
}

#endif

// A radix sort of all: for the thousands that an RPN keeps of a level it costs less than a partial one.
void top_rows_cuda(const Tensor& scores, Tensor& rows) {
  const Device device = scores.device();
  const int64_t n = scores.numel();
  Tensor keys({2, n}, DType::kI32, device), order({2, n}, DType::kI64, device);
  uint32_t* key = reinterpret_cast<uint32_t*>(keys.mutable_data<int32_t>());
  int64_t* row = order.mutable_data<int64_t>();
  parallel_for_cuda(device, n, RankRow{scores.data<float>(), key, row});
  sort_by_key(device, {key, key + n, row, row + n, n});
  rows.copy_from(order[1].slice(0, rows.numel()));
}

void select_rows_cuda(const Tensor& flags, Tensor& rows, Tensor& count) {
  select_flagged(flags.device(), flags.data<uint8_t>(), flags.numel(), rows.mutable_data<int64_t>(),
                 count.mutable_data<int64_t>());
}

OSPREY_REGISTER_KERNEL(top_rows_kernel, DeviceType::kCUDA, top_rows_cuda);
OSPREY_REGISTER_KERNEL(select_rows_kernel, DeviceType::kCUDA, select_rows_cuda);

}  // namespace
}  // namespace osprey
