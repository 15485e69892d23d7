#pragma once

#include <cmath>

#include "core/tensor/half.h"

// Every comparison is written so that a NaN falls through to arithmetic that keeps it.
namespace osprey {

// log(1 + e^x) without overflow.
template <typename T>
OSPREY_HD inline T softplus(T x) {
  return (x < 0 ? T(0) : x) + std::log1p(std::exp(x < 0 ? x : -x));
}

// 1 / (1 + e^-x), exp only of non-positive numbers.
template <typename T>
OSPREY_HD inline T stable_sigmoid(T x) {
  const T e = std::exp(x < 0 ? x : -x);
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

// Binary cross entropy of a logit x against a probability t.
template <typename T>
struct BceWithLogits {
  OSPREY_HD T operator()(T x, T t) const {
    return (x < 0 ? T(0) : x) - x * t + std::log1p(std::exp(x < 0 ? x : -x));
  }
};
template <typename T>
struct BceWithLogitsGrad {
  OSPREY_HD T operator()(T x, T t, T g) const { return g * (stable_sigmoid(x) - t); }
};

// The same with the positive term multiplied by p: (1 - t) softplus(x) + p t softplus(-x).
template <typename T>
struct WeightedBce {
  OSPREY_HD T operator()(T x, T t, T p) const { return (1 - t) * x + (1 + (p - 1) * t) * softplus(-x); }
};
template <typename T>
struct WeightedBceSlope {  // d/dx
  OSPREY_HD T operator()(T x, T t, T p) const { return (1 - t) - (1 + (p - 1) * t) * stable_sigmoid(-x); }
};

// Girshick, "Fast R-CNN", eq. (3), knee moved from 1 to beta.
template <typename T>
struct SmoothL1 {
  T beta;
  OSPREY_HD T operator()(T d) const {
    const T size = std::abs(d);
    return size < beta ? size * size / (2 * beta) : size - beta / 2;
  }
};
template <typename T>
struct SmoothL1Grad {
  T beta;
  OSPREY_HD T operator()(T d, T g) const { return d >= beta ? g : d <= -beta ? -g : g * (d / beta); }
};

template <typename T>
struct Absolute {
  OSPREY_HD T operator()(T d) const { return std::abs(d); }
};
template <typename T>
struct AbsoluteGrad {
  OSPREY_HD T operator()(T d, T g) const { return d > 0 ? g : d < 0 ? -g : d; }
};

}  // namespace osprey
