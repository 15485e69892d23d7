#pragma once

#include <cmath>

#include "core/tensor/half.h"

namespace osprey {

template <typename T>
struct Add {
  OSPREY_HD T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct Subtract {
  OSPREY_HD T operator()(T a, T b) const { return a - b; }
};
template <typename T>
struct Multiply {
  OSPREY_HD T operator()(T a, T b) const { return a * b; }
};
template <typename T>
struct Scale {
  T factor;
  OSPREY_HD T operator()(T x) const { return factor * x; }
};
template <typename T>
struct Offset {
  T offset;
  OSPREY_HD T operator()(T x) const { return x + offset; }
};

template <typename T>
struct Lerp {  // from a towards b
  T weight;
  OSPREY_HD T operator()(T a, T b) const { return a * (1 - weight) + weight * b; }
};

// NaN passes through: a comparison that swallowed it would hide where it was born.
template <typename T>
struct Relu {
  OSPREY_HD T operator()(T x) const { return x < 0 ? T(0) : x; }
};
template <typename T>
struct ReluGrad {  // y = relu(x), g = dL/dy
  OSPREY_HD T operator()(T y, T g) const { return y <= 0 ? T(0) : g; }
};
template <typename T>
struct AddRelu {
  OSPREY_HD T operator()(T a, T b) const {
    const T sum = a + b;
    return sum < 0 ? T(0) : sum;
  }
};

template <typename T>
struct Sigmoid {  // exp only of non-positive numbers: no overflow
  OSPREY_HD T operator()(T x) const {
    const T e = std::exp(x < 0 ? x : -x);
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
  }
};
template <typename T>
struct SigmoidGrad {
  OSPREY_HD T operator()(T y, T g) const { return g * y * (1 - y); }
};
template <typename T>
struct Exp {
  OSPREY_HD T operator()(T x) const { return std::exp(x); }
};

}  // namespace osprey
