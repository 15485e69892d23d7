#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/error.h"
#include "core/tensor/half.h"

namespace osprey {

enum class DType : uint8_t { kF64, kF32, kF16, kBF16, kI64, kI32, kU8, kBool };

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) { return dtype <= DType::kBF16; }
constexpr bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// "f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool".
const char* name_of(DType dtype);
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// The type that arithmetic on T runs in: f32 for the halves, else T itself.
template <typename T>
struct ComputeTypeOf {
  using type = T;
};
template <>
struct ComputeTypeOf<Half> {
  using type = float;
};
template <>
struct ComputeTypeOf<BFloat16> {
  using type = float;
};
template <typename T>
using ComputeType = typename ComputeTypeOf<T>::type;

template <typename T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}) with T the C++ type of a floating dtype; throws Error naming `op` for others.
template <typename F>
auto dispatch_floating(DType dtype, const char* op, F&& f) {
  switch (dtype) {
    case DType::kF64:
      return f(TypeTag<double>{});
    case DType::kF32:
      return f(TypeTag<float>{});
    case DType::kF16:
      return f(TypeTag<Half>{});
    case DType::kBF16:
      return f(TypeTag<BFloat16>{});
    default:
      throw Error(str_cat(op, ": needs a floating dtype, got ", dtype));
  }
}

// Calls f(TypeTag<T>{}) for every dtype.
template <typename F>
auto dispatch_all(DType dtype, const char* op, F&& f) {
  switch (dtype) {
    case DType::kI64:
      return f(TypeTag<int64_t>{});
    case DType::kI32:
      return f(TypeTag<int32_t>{});
    case DType::kU8:
      return f(TypeTag<uint8_t>{});
    case DType::kBool:
      return f(TypeTag<bool>{});
    default:
      return dispatch_floating(dtype, op, f);
  }
}

}  // namespace osprey
