#include "core/tensor/tensor.h"

#include <cmath>
#include <cstring>

#include "core/base/parallel.h"
#include "core/tensor/convert.h"
#include "core/tensor/copy.h"

namespace osprey {

DeviceKernel<void(const void*, Device, void*, Device, size_t)> copy_bytes_kernel("copy between devices");
DeviceKernel<void(Tensor&, double)> fill_kernel("fill");
DeviceKernel<void(const Tensor&, Tensor&)> convert_kernel("convert");
DeviceKernel<void(const Tensor&, Tensor&)> mark_nonfinite_kernel("all_finite");

namespace {

constexpr int64_t kGrain = 1 << 15;  // elements below which threads cost more than they bring

// Shape with its one -1 (if any) replaced so that the element count is `numel`.
Shape resolve_shape(Shape shape, int64_t numel) {
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      OSPREY_REQUIRE(unknown < 0, "reshape: more than one -1 in ", to_string(shape));
      unknown = static_cast<int>(i);
    } else {
      known *= shape[i];
    }
  }
  if (unknown >= 0) shape[unknown] = known == 0 ? 0 : numel / known;
  return shape;
}

template <typename From, typename To>
void convert_range(const From* from, To* to, int64_t begin, int64_t end) {
  constexpr bool kBetweenHalves = sizeof(From) == 2 && sizeof(To) == 2;
  if constexpr (std::is_same_v<To, float> && is_half(dtype_of<From>)) {
    widen(from + begin, to + begin, end - begin);
  } else if constexpr (std::is_same_v<From, float> && is_half(dtype_of<To>)) {
    narrow(from + begin, to + begin, end - begin);
  } else if constexpr (kBetweenHalves) {
    float block[256];
    for (int64_t i = begin; i < end; i += 256) {
      const int64_t count = std::min<int64_t>(256, end - i);
      widen(from + i, block, count);
      narrow(block, to + i, count);
    }
  } else {
    for (int64_t i = begin; i < end; ++i) {
      to[i] = static_cast<To>(static_cast<ComputeType<From>>(from[i]));
    }
  }
}

void copy_cpu(const void* from, void* to, int64_t bytes) {
  parallel_ranges(bytes, kGrain * 4, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

void convert_cpu(const Tensor& from, Tensor& to) {
  void* target = to.mutable_raw();
  dispatch_all(from.dtype(), "convert", [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    dispatch_all(to.dtype(), "convert", [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const From* source = from.data<From>();
      parallel_ranges(from.numel(), kGrain, [&](int64_t begin, int64_t end) {
        convert_range(source, static_cast<To*>(target), begin, end);
      });
    });
  });
}

}  // namespace

int64_t numel_of(const Shape& shape) {
  int64_t numel = 1;
  for (const int64_t extent : shape) {
    OSPREY_REQUIRE(extent >= 0, "negative extent in shape ", to_string(shape));
    numel *= extent;
  }
  return numel;
}

std::string to_string(const Shape& shape) { return "(" + join(shape) + ")"; }

std::string describe(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return str_cat(tensor.dtype(), " ", to_string(tensor.shape()), " ", tensor.device());
}

Tensor::Tensor(Shape shape, DType dtype, Device device)
    : shape_(std::move(shape)), numel_(numel_of(shape_)), dtype_(dtype) {
  try {
    storage_ = std::make_shared<Storage>(bytes(), device);
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(str_cat(dtype, " ", to_string(shape_), ": ", error.what()));
  }
}

Tensor Tensor::zeros(Shape shape, DType dtype, Device device) {
  return full(std::move(shape), 0, dtype, device);
}

Tensor Tensor::full(Shape shape, double value, DType dtype, Device device) {
  Tensor tensor(std::move(shape), dtype, device);
  tensor.fill(value);
  return tensor;
}

template <typename T>
Tensor Tensor::from(const std::vector<T>& values, Shape shape) {
  Tensor tensor(resolve_shape(std::move(shape), static_cast<int64_t>(values.size())), dtype_of<T>);
  OSPREY_REQUIRE(tensor.numel() == static_cast<int64_t>(values.size()), "from: ", values.size(),
                 " values do not fill shape ", to_string(tensor.shape()));
  std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
  return tensor;
}
template Tensor Tensor::from(const std::vector<double>&, Shape);
template Tensor Tensor::from(const std::vector<float>&, Shape);
template Tensor Tensor::from(const std::vector<Half>&, Shape);
template Tensor Tensor::from(const std::vector<BFloat16>&, Shape);
template Tensor Tensor::from(const std::vector<int64_t>&, Shape);
template Tensor Tensor::from(const std::vector<int32_t>&, Shape);
template Tensor Tensor::from(const std::vector<uint8_t>&, Shape);
template Tensor Tensor::from(const std::vector<bool>&, Shape);

int64_t Tensor::dim(int axis) const {
  const int index = axis < 0 ? axis + rank() : axis;
  OSPREY_REQUIRE(index >= 0 && index < rank(), "dim: axis ", axis, " is outside shape ", to_string(shape_));
  return shape_[index];
}

void Tensor::check_type(DType wanted) const {
  OSPREY_REQUIRE(defined(), "data: the tensor is undefined");
  OSPREY_REQUIRE(dtype_ == wanted, "data: asked for ", wanted, ", the tensor is ", describe(*this));
}

const void* Tensor::raw() const {
  OSPREY_REQUIRE(defined(), "raw: the tensor is undefined");
  return static_cast<const char*>(storage_->data()) + offset_;
}

void* Tensor::mutable_raw() {
  OSPREY_REQUIRE(defined(), "mutable_raw: the tensor is undefined");
  storage_->bump_version();
  return static_cast<char*>(storage_->data()) + offset_;
}

double Tensor::item() const {
  OSPREY_REQUIRE(numel_ == 1, "item: needs one element, got ", describe(*this));
  return to_doubles().front();
}

double Tensor::item_at(int64_t index) const { return reshape({-1})[index].item(); }

std::vector<double> Tensor::to_doubles() const {
  const Tensor host = to(kCPU).to(DType::kF64);
  return std::vector<double>(host.data<double>(), host.data<double>() + host.numel());
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  OSPREY_REQUIRE(rank() >= 1 && begin >= 0 && begin <= end && end <= shape_[0], "slice: rows [", begin, ", ",
                 end, ") of ", describe(*this));
  Tensor view = *this;
  view.shape_[0] = end - begin;
  view.numel_ = numel_of(view.shape_);
  const int64_t row_elements = numel_of(Shape(shape_.begin() + 1, shape_.end()));
  view.offset_ += begin * row_elements * static_cast<int64_t>(size_of(dtype_));
  return view;
}

Tensor Tensor::operator[](int64_t row) const {
  Tensor view = slice(row, row + 1);
  view.shape_.erase(view.shape_.begin());
  return view;
}

Tensor Tensor::reshape(Shape shape) const {
  Tensor view = *this;
  view.shape_ = resolve_shape(std::move(shape), numel_);
  OSPREY_REQUIRE(numel_of(view.shape_) == numel_, "reshape: ", to_string(shape_), " cannot become ",
                 to_string(view.shape_));
  return view;
}

Tensor Tensor::clone() const {
  Tensor copy = empty_like(*this);
  copy.copy_from(*this);
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor converted(shape_, dtype, device());
  converted.copy_from(*this);
  return converted;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  Tensor moved(shape_, dtype_, device);
  moved.copy_from(*this);
  return moved;
}

void Tensor::copy_from(const Tensor& source) {
  OSPREY_REQUIRE(shape_ == source.shape_, "copy_from: shape ", to_string(source.shape_), " into ",
                 to_string(shape_));
  if (empty()) return;
  const bool on_cpu = !device().is_cuda() && !source.device().is_cuda();
  if (dtype_ != source.dtype_ && on_cpu) {
    convert_cpu(source, *this);
  } else if (dtype_ != source.dtype_ && device() == source.device() && dtype_ != DType::kF64 &&
             source.dtype_ != DType::kF64) {
    convert_kernel(device(), source, *this);
  } else if (dtype_ != source.dtype_) {  // f64 lives on the CPU, so that is where it converts
    copy_from(source.to(kCPU).to(dtype_));
  } else if (on_cpu) {
    copy_cpu(source.raw(), mutable_raw(), static_cast<int64_t>(bytes()));
  } else {
    copy_bytes_kernel.get(DeviceType::kCUDA)(source.raw(), source.device(), mutable_raw(), device(), bytes());
  }
}

void Tensor::fill(double value) {
  if (empty()) return;
  if (device().is_cuda()) {
    fill_kernel(device(), *this, value);
    return;
  }
  void* target = mutable_raw();
  dispatch_all(dtype_, "fill", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T typed = static_cast<T>(static_cast<ComputeType<T>>(value));
    parallel_ranges(numel_, kGrain, [&](int64_t begin, int64_t end) {
      std::fill(static_cast<T*>(target) + begin, static_cast<T*>(target) + end, typed);
    });
  });
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const Tensor left = a.to(kCPU), right = b.to(kCPU);
  return a.empty() || std::memcmp(left.raw(), right.raw(), a.bytes()) == 0;
}

namespace {

bool all_finite_cpu(const Tensor& tensor) {
  return dispatch_floating(tensor.dtype(), "all_finite", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* values = tensor.data<T>();
    std::atomic<bool> finite{true};
    parallel_ranges(tensor.numel(), kGrain, [&](int64_t begin, int64_t end) {
      // x - x is 0 for finite x and NaN otherwise: a sum without branches, so the loop vectorises.
      ComputeType<T> sum = 0;
      for (int64_t i = begin; i < end; ++i) {
        const auto x = static_cast<ComputeType<T>>(values[i]);
        sum += x - x;
      }
      if (!(sum == 0)) finite = false;
    });
    return finite.load();
  });
}

}  // namespace

void mark_nonfinite(const Tensor& tensor, Tensor& mark) {
  OSPREY_REQUIRE(mark.dtype() == DType::kI32 && mark.numel() == 1 && mark.device() == tensor.device(),
                 "mark_nonfinite: the mark of ", describe(tensor), " is ", describe(mark));
  if (!is_floating(tensor.dtype()) || tensor.empty()) return;
  if (tensor.device().is_cuda()) {
    mark_nonfinite_kernel(tensor.device(), tensor, mark);
  } else if (!all_finite_cpu(tensor)) {
    *mark.mutable_data<int32_t>() = 1;
  }
}

bool all_finite(const Tensor& tensor) {
  Tensor mark = Tensor::zeros({1}, DType::kI32, tensor.device());
  mark_nonfinite(tensor, mark);
  return mark.item() == 0;
}

Tensor concat(const Tensors& parts) {
  OSPREY_REQUIRE(!parts.empty(), "concat: needs one tensor at least");
  Shape shape = parts.front().shape();
  OSPREY_REQUIRE(!shape.empty(), "concat: scalars cannot be joined");
  shape[0] = 0;
  for (const Tensor& part : parts) {
    Shape expected = shape, actual = part.shape();
    if (!actual.empty()) expected[0] = actual[0];
    OSPREY_REQUIRE(actual == expected && part.dtype() == parts.front().dtype() &&
                       part.device() == parts.front().device(),
                   "concat: ", describe(part), " beside ", describe(parts.front()));
    shape[0] += actual[0];
  }
  Tensor joined(shape, parts.front().dtype(), parts.front().device());
  int64_t row = 0;
  for (const Tensor& part : parts) {
    joined.slice(row, row + part.dim(0)).copy_from(part);
    row += part.dim(0);
  }
  return joined;
}

}  // namespace osprey
