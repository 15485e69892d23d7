#include "core/bbox/box_columns.h"

namespace osprey {

namespace {

// On a NaN these return their second argument; a NaN in the first one reaches the result through its area.
inline float lesser(float a, float b) { return a < b ? a : b; }
inline float greater(float a, float b) { return a > b ? a : b; }
inline float at_least(float floor, float x) { return x < floor ? floor : x; }

// Everything inlined and free of branches: one vector division per eight pairs.
template <OverlapMode mode>
void overlap_row_as(const BoxColumns& rows, int64_t i, const BoxColumns& columns, int64_t begin, int64_t end,
                    float eps, float* out) {
  const float x1 = rows.x1[i], y1 = rows.y1[i], x2 = rows.x2[i], y2 = rows.y2[i], area = rows.area[i];
  const float* bx1 = columns.x1.data() + begin;
  const float* by1 = columns.y1.data() + begin;
  const float* bx2 = columns.x2.data() + begin;
  const float* by2 = columns.y2.data() + begin;
  const float* barea = columns.area.data() + begin;
#pragma omp simd
  for (int64_t j = 0; j < end - begin; ++j) {
    const float w = at_least(0, lesser(x2, bx2[j]) - greater(x1, bx1[j]));
    const float h = at_least(0, lesser(y2, by2[j]) - greater(y1, by1[j]));
    const float overlap = w * h;
    const float covered = mode == OverlapMode::kIoF ? area : area + barea[j] - overlap;
    const float whole = at_least(eps, covered);
    float value = overlap / whole;
    if constexpr (mode == OverlapMode::kGIoU) {
      const float hull_w = at_least(0, greater(x2, bx2[j]) - lesser(x1, bx1[j]));
      const float hull_h = at_least(0, greater(y2, by2[j]) - lesser(y1, by1[j]));
      const float hull = at_least(eps, hull_w * hull_h);
      value -= (hull - whole) / hull;
    }
    out[j] = value;
  }
}

}  // namespace

BoxColumns::BoxColumns(const Tensor& boxes) {
  OSPREY_REQUIRE(boxes.rank() == 2 && boxes.dim(1) == 4, "boxes must be (n, 4), got ",
                 to_string(boxes.shape()));
  const Tensor host = boxes.to(kCPU).to(DType::kF32);
  const float* box = host.data<float>();
  const size_t count = static_cast<size_t>(boxes.dim(0));
  for (std::vector<float>* column : {&x1, &y1, &x2, &y2, &area}) column->resize(count);
  for (size_t i = 0; i < count; ++i, box += 4) {
    x1[i] = box[0];
    y1[i] = box[1];
    x2[i] = box[2];
    y2[i] = box[3];
    area[i] = (box[2] - box[0]) * (box[3] - box[1]);
  }
}

void overlap_row(const BoxColumns& rows, int64_t i, const BoxColumns& columns, int64_t begin, int64_t end,
                 OverlapMode mode, float eps, float* out) {
  switch (mode) {
    case OverlapMode::kIoU:
      return overlap_row_as<OverlapMode::kIoU>(rows, i, columns, begin, end, eps, out);
    case OverlapMode::kIoF:
      return overlap_row_as<OverlapMode::kIoF>(rows, i, columns, begin, end, eps, out);
    case OverlapMode::kGIoU:
      return overlap_row_as<OverlapMode::kGIoU>(rows, i, columns, begin, end, eps, out);
  }
}

}  // namespace osprey
