#pragma once

#include <cmath>

#include "core/tensor/half.h"

namespace osprey {

// A number with its derivatives by the four coordinates of a box (forward-mode differentiation): a loss
// formula written once gives value and gradient. At a tie max and min give each side half the derivative, as
// PyTorch does; NaN passes through everything.
template <typename T>
struct Dual {
  T value = 0;
  T d[4] = {0, 0, 0, 0};

  Dual() = default;
  OSPREY_HD Dual(T constant) : value(constant) {}  // NOLINT(google-explicit-constructor): 1 - x
  OSPREY_HD static Dual variable(T value, int index) {
    Dual x(value);
    x.d[index] = 1;
    return x;
  }
};

// f(a) with f'(a) = slope.
template <typename T>
OSPREY_HD Dual<T> chain(const Dual<T>& a, T value, T slope) {
  Dual<T> r(value);
  for (int k = 0; k < 4; ++k) r.d[k] = slope * a.d[k];
  return r;
}
// f(a, b) with the two partial derivatives.
template <typename T>
OSPREY_HD Dual<T> chain(const Dual<T>& a, const Dual<T>& b, T value, T slope_a, T slope_b) {
  Dual<T> r(value);
  for (int k = 0; k < 4; ++k) r.d[k] = slope_a * a.d[k] + slope_b * b.d[k];
  return r;
}

template <typename T>
OSPREY_HD Dual<T> operator+(const Dual<T>& a, const Dual<T>& b) {
  return chain(a, b, a.value + b.value, T(1), T(1));
}
template <typename T>
OSPREY_HD Dual<T> operator-(const Dual<T>& a, const Dual<T>& b) {
  return chain(a, b, a.value - b.value, T(1), T(-1));
}
template <typename T>
OSPREY_HD Dual<T> operator*(const Dual<T>& a, const Dual<T>& b) {
  return chain(a, b, a.value * b.value, b.value, a.value);
}
template <typename T>
OSPREY_HD Dual<T> operator/(const Dual<T>& a, const Dual<T>& b) {
  const T quotient = a.value / b.value;
  return chain(a, b, quotient, 1 / b.value, -quotient / b.value);
}
template <typename T>
OSPREY_HD Dual<T> max(const Dual<T>& a, const Dual<T>& b) {
  if (a.value > b.value) return a;
  if (b.value > a.value) return b;
  return chain(a, b, (a.value + b.value) / 2, T(0.5), T(0.5));
}
template <typename T>
OSPREY_HD Dual<T> min(const Dual<T>& a, const Dual<T>& b) {
  if (a.value < b.value) return a;
  if (b.value < a.value) return b;
  return chain(a, b, (a.value + b.value) / 2, T(0.5), T(0.5));
}
// clamp(min): unlike max(), the whole derivative at the floor itself.
template <typename T>
OSPREY_HD Dual<T> at_least(T floor, const Dual<T>& a) {
  return a.value < floor ? Dual<T>(floor) : a;
}
template <typename T>
OSPREY_HD Dual<T> square(const Dual<T>& a) {
  return chain(a, a.value * a.value, 2 * a.value);
}
template <typename T>
OSPREY_HD Dual<T> abs(const Dual<T>& a) {
  return chain(a, std::abs(a.value), static_cast<T>((a.value > 0) - (a.value < 0)));
}
template <typename T>
OSPREY_HD Dual<T> log(const Dual<T>& a) {
  return chain(a, std::log(a.value), 1 / a.value);
}
template <typename T>
OSPREY_HD Dual<T> atan(const Dual<T>& a) {
  return chain(a, std::atan(a.value), 1 / (1 + a.value * a.value));
}

}  // namespace osprey
