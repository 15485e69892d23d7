#include "core/bbox/point_distance.h"

#include <limits>

#include "core/bbox/point_distance_kernel.h"

namespace osprey {

DeviceKernel<void(Device, int64_t, const BoxOfDistances&)> distance2bbox_kernel("distance2bbox");
DeviceKernel<void(Device, int64_t, const DistancesOfBox&)> bbox2distance_kernel("bbox2distance");

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

void require_pairs(const char* op, const Tensor& points, const Tensor& boxes) {
  OSPREY_REQUIRE(points.rank() == 2 && points.dim(1) == 2 && boxes.shape() == (Shape{points.dim(0), 4}), op,
                 ": points must be (n, 2) beside (n, 4), got ", to_string(points.shape()), " and ",
                 to_string(boxes.shape()));
}

}  // namespace

Tensor distance2bbox(const Tensor& points, const Tensor& distance,
                     std::optional<std::array<int64_t, 2>> max_shape) {
  require_pairs("distance2bbox", points, distance);
  const Device device = points.device();
  const Tensor from = points.to(DType::kF32), by = distance.to(device).to(DType::kF32);
  Tensor boxes(distance.shape(), DType::kF32, device);
  BoxOfDistances f{from.data<float>(), by.data<float>(), -kInfinity,
                   kInfinity,          kInfinity,        boxes.mutable_data<float>()};
  if (max_shape) {
    f.low = 0;
    f.bottom = static_cast<float>((*max_shape)[0]);
    f.right = static_cast<float>((*max_shape)[1]);
  }
  distance2bbox_kernel(device, device, points.dim(0), f);
  return boxes;
}

Tensor bbox2distance(const Tensor& points, const Tensor& bboxes, std::optional<double> max_dis, double eps) {
  require_pairs("bbox2distance", points, bboxes);
  const Device device = points.device();
  const Tensor from = points.to(DType::kF32), to = bboxes.to(device).to(DType::kF32);
  Tensor distance(bboxes.shape(), DType::kF32, device);
  const float high = max_dis ? static_cast<float>(*max_dis - eps) : kInfinity;
  bbox2distance_kernel(device, device, points.dim(0),
                       DistancesOfBox{from.data<float>(), to.data<float>(), max_dis ? 0 : -kInfinity, high,
                                      distance.mutable_data<float>()});
  return distance;
}

}  // namespace osprey
