#include "core/ops/magnitudes.h"

#include <algorithm>

#include "core/ops/magnitudes_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor& value, Tensor& cells)> magnitudes_kernel("magnitudes");

namespace {

double number_of(int64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace

void Magnitudes::merge(const Magnitudes& other) {
  count += other.count;
  zeros += other.zeros;
  infs += other.infs;
  nans += other.nans;
  largest = std::max(largest, other.largest);
  if (smallest == 0 || (other.smallest != 0 && other.smallest < smallest)) smallest = other.smallest;
  for (size_t i = 0; i < binades.size(); ++i) binades[i] += other.binades[i];
}

Magnitudes measure_magnitudes(const Tensor& value) {
  OSPREY_REQUIRE(is_floating(value.dtype()), "measure_magnitudes: expected a floating tensor, got ",
                 describe(value));
  Magnitudes result;
  result.count = value.numel();
  if (value.empty()) return result;
  const Tensor source = value.dtype() == DType::kF64 ? value.to(DType::kF32) : value;
  Tensor cells({kMagnitudeCells}, DType::kI64, value.device());
  magnitudes_kernel(value.device(), source, cells);
  const std::vector<int64_t> host = cells.to_vector<int64_t>();
  result.zeros = host[kZeros];
  result.nans = host[kNans];
  result.infs = host[255] - host[kNans];
  std::copy_n(host.begin(), result.binades.size(), result.binades.begin());
  result.binades[0] -= result.zeros;
  if (host[kSmallest] == kNoSmallest) return result;
  result.largest = number_of(host[kLargest]);
  result.smallest = number_of(host[kSmallest]);
  return result;
}

}  // namespace osprey
