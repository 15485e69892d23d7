#include "core/ops/channel_ops.h"

#include "core/ops/channel_ops_kernel.h"

namespace osprey {

DeviceKernel<void(const Tensor&, int64_t, Tensor&, int64_t, int64_t)> copy_channels_kernel("copy_channels");

namespace {

Shape with_channels(Shape shape, int64_t channels) {
  shape.back() = channels;
  return shape;
}

void copy_channels(const Tensor& from, int64_t from_channel, Tensor& to, int64_t to_channel, int64_t width) {
  if (to.empty() || width == 0) return;
  copy_channels_kernel(to.device(), from, from_channel, to, to_channel, width);
}

// Channels [begin, end), copied out.
Tensor take_channels(const Tensor& x, int64_t begin, int64_t end) {
  Tensor part(with_channels(x.shape(), end - begin), x.dtype(), x.device());
  copy_channels(x, begin, part, 0, end - begin);
  return part;
}

}  // namespace

Variable concat_channels(const Variables& parts) {
  OSPREY_REQUIRE(!parts.empty(), "concat_channels: needs one map at least");
  const Tensor& first = parts[0].value();
  std::vector<int64_t> begins{0};
  for (const Variable& part : parts) {
    OSPREY_REQUIRE(part.value().rank() == 4 &&
                       with_channels(part.shape(), 0) == with_channels(first.shape(), 0) &&
                       part.dtype() == first.dtype() && part.device() == first.device(),
                   "concat_channels: ", describe(part.value()), " beside ", describe(first));
    begins.push_back(begins.back() + part.dim(3));
  }
  Tensor joined(with_channels(first.shape(), begins.back()), first.dtype(), first.device());
  for (size_t i = 0; i < parts.size(); ++i) {
    copy_channels(parts[i].value(), 0, joined, begins[i], parts[i].dim(3));
  }
  return record("concat_channels", joined, parts, [begins](const Tensor& g) {
    Gradients gradients;
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      gradients.push_back(take_channels(g, begins[i], begins[i + 1]));
    }
    return gradients;
  });
}

Variable slice_channels(const Variable& x, int64_t begin, int64_t end) {
  OSPREY_REQUIRE(x.value().rank() == 4 && 0 <= begin && begin <= end && end <= x.dim(3), "slice_channels: [",
                 begin, ", ", end, ") of x ", to_string(x.shape()));
  return record("slice_channels", take_channels(x.value(), begin, end), {x},
                [begin, end, shape = x.shape()](const Tensor& g) {
                  Tensor grad_x = Tensor::zeros(shape, g.dtype(), g.device());
                  copy_channels(g, 0, grad_x, begin, end - begin);
                  return Gradients{grad_x};
                });
}

}  // namespace osprey
