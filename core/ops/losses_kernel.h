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

// Pang et al., "Libra R-CNN", section 3.3: alpha ln(b d / beta + 1) is the gradient below beta, gamma above.
template <typename T>
struct BalancedL1 {
  T alpha, gamma, beta;
  OSPREY_HD T operator()(T d) const {
    const T size = std::abs(d), b = std::exp(gamma / alpha) - 1;
    if (size >= beta) return gamma * size + gamma / b - alpha * beta;
    return alpha / b * (b * size + 1) * std::log(b * size / beta + 1) - alpha * size;
  }
};
template <typename T>
struct BalancedL1Grad {
  T alpha, gamma, beta;
  OSPREY_HD T operator()(T d, T g) const {
    const T size = std::abs(d), b = std::exp(gamma / alpha) - 1;
    const T sign = d > 0 ? T(1) : d < 0 ? T(-1) : d;
    if (size >= beta) return g * gamma * sign;
    const T log_part = alpha * std::log(b * size / beta + 1);
    return g * sign * (log_part + alpha * (b * size + 1) / (b * size + beta) - alpha);
  }
};

// Lin et al., "Focal Loss", eq. (5). miss = 1 - p_t is a sigmoid of its own: no cancellation near 1.
template <typename T>
struct FocalLossOf {
  T gamma, alpha;
  OSPREY_HD T operator()(T x, T t) const {
    const bool positive = t > T(0.5);
    const T signed_x = positive ? -x : x;
    return (positive ? alpha : 1 - alpha) * std::pow(stable_sigmoid(signed_x), gamma) * softplus(signed_x);
  }
};
template <typename T>
struct FocalLossGrad {
  T gamma, alpha;
  OSPREY_HD T operator()(T x, T t, T g) const {
    const bool positive = t > T(0.5);
    const T signed_x = positive ? -x : x;
    const T miss = stable_sigmoid(signed_x), hit = stable_sigmoid(-signed_x);
    const T slope = std::pow(miss, gamma) * (miss + gamma * hit * softplus(signed_x));
    return g * (positive ? -alpha : 1 - alpha) * slope;
  }
};

}  // namespace osprey
