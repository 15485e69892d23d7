#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/storage.h"

namespace osprey {

using Shape = std::vector<int64_t>;

int64_t numel_of(const Shape& shape);
// "(2, 3, 4)".
std::string to_string(const Shape& shape);

// A dense row-major array: shared storage, offset, shape, dtype, device. Copying a Tensor copies the handle,
// not the data. There are no strides; the only views are a slice along dimension 0 and a reshape. Images and
// feature maps are (n, h, w, c). A scalar has shape ().
class Tensor {
 public:
  Tensor() = default;  // undefined: defined() is false, every other use is an error
  Tensor(Shape shape, DType dtype, Device device = kCPU);  // uninitialised

  static Tensor zeros(Shape shape, DType dtype, Device device = kCPU);
  static Tensor full(Shape shape, double value, DType dtype, Device device = kCPU);
  static Tensor zeros_like(const Tensor& other) {
    return zeros(other.shape(), other.dtype(), other.device());
  }
  static Tensor empty_like(const Tensor& other) {
    return Tensor(other.shape(), other.dtype(), other.device());
  }
  template <typename T>
  static Tensor from(const std::vector<T>& values, Shape shape);
  template <typename T>
  static Tensor from(std::initializer_list<T> values, Shape shape) {
    return from(std::vector<T>(values), std::move(shape));
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  // Negative `axis` counts from the end.
  int64_t dim(int axis) const;
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t numel() const { return numel_; }
  bool empty() const { return numel_ == 0; }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device() : kCPU; }
  size_t bytes() const { return static_cast<size_t>(numel_) * size_of(dtype_); }

  // Typed access; throws when T is not the dtype. mutable_data marks the storage as changed
  // (Storage::version).
  template <typename T>
  const T* data() const {
    check_type(dtype_of<T>);
    return static_cast<const T*>(raw());
  }
  template <typename T>
  T* mutable_data() {
    check_type(dtype_of<T>);
    return static_cast<T*>(mutable_raw());
  }
  const void* raw() const;
  void* mutable_raw();

  // The single value of a one-element tensor, whatever its dtype. On CUDA this synchronises.
  double item() const;
  double item_at(int64_t index) const;  // the same for one element of many, by flat index
  // All values as doubles, row-major; for tests, logs and small results. On CUDA this synchronises.
  std::vector<double> to_doubles() const;
  template <typename T>
  std::vector<T> to_vector() const {
    const Tensor host = to(kCPU);
    return std::vector<T>(host.data<T>(), host.data<T>() + host.numel());
  }

  // Views: they share the storage.
  Tensor slice(int64_t begin, int64_t end) const;  // rows [begin, end) of dimension 0
  Tensor operator[](int64_t row) const;            // one row, dimension 0 removed
  Tensor reshape(Shape shape) const;               // one extent may be -1

  // Copies. `to` returns the tensor itself when nothing changes.
  Tensor clone() const;
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;
  void copy_from(const Tensor& source);  // same shape; converts dtype
  void fill(double value);

  const std::shared_ptr<Storage>& storage() const { return storage_; }
  bool shares_storage(const Tensor& other) const { return storage_ == other.storage_; }

 private:
  void check_type(DType wanted) const;

  std::shared_ptr<Storage> storage_;
  int64_t offset_ = 0;  // bytes
  Shape shape_;
  int64_t numel_ = 0;
  DType dtype_ = DType::kF32;
};

using Tensors = std::vector<Tensor>;

// "f32 (2, 3) cpu", for messages.
std::string describe(const Tensor& tensor);

// Bitwise equality of shape, dtype and content.
bool bitwise_equal(const Tensor& a, const Tensor& b);
// False when any element of a floating tensor is inf or NaN. On CUDA this synchronises.
bool all_finite(const Tensor& tensor);
// The same for many tensors with one look at the end: sets mark, i32 (1) on the tensor's device, to 1 when
// any element is inf or NaN, and leaves it alone otherwise.
void mark_nonfinite(const Tensor& tensor, Tensor& mark);

// Joins along dimension 0. Shapes agree in every other dimension, dtypes and devices are equal. Requires one
// tensor at least.
Tensor concat(const Tensors& parts);

}  // namespace osprey
