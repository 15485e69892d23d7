#include "core/bbox/box_columns.h"

#include "core/bbox/overlap_kernel.h"

namespace osprey {

namespace {

// Everything inlined and free of branches: one vector division per eight pairs.
template <OverlapMode mode>
void overlap_row_as(const BoxColumns& rows, int64_t i, const BoxColumns& columns, int64_t begin, int64_t end,
                    float eps, float* out) {
  const BoxEdges row{rows.x1[i], rows.y1[i], rows.x2[i], rows.y2[i], rows.area[i]};
  const float* x1 = columns.x1.data() + begin;
  const float* y1 = columns.y1.data() + begin;
  const float* x2 = columns.x2.data() + begin;
  const float* y2 = columns.y2.data() + begin;
  const float* area = columns.area.data() + begin;
#pragma omp simd
  for (int64_t j = 0; j < end - begin; ++j) {
    out[j] = box_overlap<mode>(row, {x1[j], y1[j], x2[j], y2[j], area[j]}, eps);
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
