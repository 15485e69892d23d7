#pragma once

#include "core/ops/losses_kernel.h"

namespace osprey {

// |sigmoid(x) - t| and its sign, without cancellation at targets 0 and 1.
template <typename T>
OSPREY_HD inline T signed_gap(T x, T t) {
  return t == 1 ? -stable_sigmoid(-x) : stable_sigmoid(x) - t;
}

// d/dx of |sigmoid(x) - t|^power. 0 at the minimum, where a power below 1 has none.
template <typename T>
OSPREY_HD inline T gap_power_slope(T x, T gap, T power) {
  if (gap == 0) return T(0);
  const T slope = power * std::pow(std::abs(gap), power - 1) * stable_sigmoid(x) * stable_sigmoid(-x);
  return gap > 0 ? slope : -slope;
}

template <typename T>
struct QualityFocal {
  T beta;
  OSPREY_HD T operator()(T x, T t) const {
    return BceWithLogits<T>{}(x, t) * std::pow(std::abs(signed_gap(x, t)), beta);
  }
};
template <typename T>
struct QualityFocalGrad {
  T beta;
  OSPREY_HD T operator()(T x, T t, T g) const {
    const T gap = signed_gap(x, t);
    return g *
           (std::pow(std::abs(gap), beta) * gap + BceWithLogits<T>{}(x, t) * gap_power_slope(x, gap, beta));
  }
};

template <typename T>
struct Varifocal {
  T alpha, gamma, iou_weighted;  // iou_weighted: 0 or 1
  OSPREY_HD T operator()(T x, T t) const {
    const T bce = BceWithLogits<T>{}(x, t);
    if (t > 0) return bce * (iou_weighted != 0 ? t : T(1));
    return bce * alpha * std::pow(std::abs(signed_gap(x, t)), gamma);
  }
};
template <typename T>
struct VarifocalGrad {
  T alpha, gamma, iou_weighted;
  OSPREY_HD T operator()(T x, T t, T g) const {
    const T gap = signed_gap(x, t);
    if (t > 0) return g * gap * (iou_weighted != 0 ? t : T(1));
    return g * alpha *
           (std::pow(std::abs(gap), gamma) * gap + BceWithLogits<T>{}(x, t) * gap_power_slope(x, gap, gamma));
  }
};

template <typename T>
struct GaussianFocal {
  static constexpr T kEps = T(1e-12);
  T alpha, gamma;
  OSPREY_HD T operator()(T p, T t) const {
    const T positive = t == 1 ? -std::log(p + kEps) * std::pow(1 - p, alpha) : T(0);
    return positive - std::log(1 - p + kEps) * std::pow(p, alpha) * std::pow(1 - t, gamma);
  }
};
template <typename T>
struct GaussianFocalGrad {
  static constexpr T kEps = T(1e-12);
  T alpha, gamma;
  OSPREY_HD T operator()(T p, T t, T g) const {
    const T miss = 1 - p;
    T slope = (std::pow(p, alpha) / (miss + kEps) - alpha * std::pow(p, alpha - 1) * std::log(miss + kEps)) *
              std::pow(1 - t, gamma);
    if (t == 1) {
      slope += alpha * std::pow(miss, alpha - 1) * std::log(p + kEps) - std::pow(miss, alpha) / (p + kEps);
    }
    return g * slope;
  }
};

template <typename T>
struct AuthenticSmoothL1 {
  T mu;
  OSPREY_HD T operator()(T d) const { return std::hypot(d, mu) - mu; }
};
template <typename T>
struct AuthenticSmoothL1Grad {
  T mu;
  OSPREY_HD T operator()(T d, T g) const { return g * (d / std::hypot(d, mu)); }
};

// --- The gradient lengths that harmonizing counts.

// Of binary cross entropy.
template <typename T>
struct LogitGradientLength {
  OSPREY_HD T operator()(T x, T t) const { return std::abs(stable_sigmoid(x) - t); }
};
// Of authentic smooth L1.
template <typename T>
struct DiffGradientLength {
  T mu;
  OSPREY_HD T operator()(T d) const { return std::abs(d / std::hypot(d, mu)); }
};

}  // namespace osprey
