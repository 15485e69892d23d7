#pragma once

#include <cstdint>

#include "core/ops/dual.h"

// Each loss is a functor loss(pred, target, out) over one pair of boxes; `out` has kOutputs entries.
namespace osprey {

template <typename T>
struct DualBox {
  Dual<T> x1, y1, x2, y2;

  OSPREY_HD Dual<T> width() const { return x2 - x1; }
  OSPREY_HD Dual<T> height() const { return y2 - y1; }
  OSPREY_HD Dual<T> area() const { return width() * height(); }
};

template <typename T>
OSPREY_HD Dual<T> overlap_area(const DualBox<T>& a, const DualBox<T>& b) {
  return at_least(T(0), min(a.x2, b.x2) - max(a.x1, b.x1)) *
         at_least(T(0), min(a.y2, b.y2) - max(a.y1, b.y1));
}
template <typename T>
OSPREY_HD Dual<T> hull_width(const DualBox<T>& a, const DualBox<T>& b) {
  return at_least(T(0), max(a.x2, b.x2) - min(a.x1, b.x1));
}
template <typename T>
OSPREY_HD Dual<T> hull_height(const DualBox<T>& a, const DualBox<T>& b) {
  return at_least(T(0), max(a.y2, b.y2) - min(a.y1, b.y1));
}

// bbox_overlaps: eps is a floor of the union.
template <typename T>
OSPREY_HD Dual<T> floored_union(const DualBox<T>& a, const DualBox<T>& b, const Dual<T>& overlap, T eps) {
  return max(a.area() + b.area() - overlap, Dual<T>(eps));
}

template <typename T>
struct IoULossOf {
  static constexpr int kOutputs = 1;
  T eps, linear;  // linear: 0 or 1
  OSPREY_HD void operator()(const DualBox<T>& pred, const DualBox<T>& target, Dual<T>* out) const {
    const Dual<T> overlap = overlap_area(pred, target);
    const Dual<T> iou = at_least(eps, overlap / floored_union(pred, target, overlap, eps));
    out[0] = linear != 0 ? Dual<T>(1) - iou : Dual<T>(0) - log(iou);
  }
};

template <typename T>
struct GIoULossOf {
  static constexpr int kOutputs = 1;
  T eps;
  OSPREY_HD void operator()(const DualBox<T>& pred, const DualBox<T>& target, Dual<T>* out) const {
    const Dual<T> overlap = overlap_area(pred, target);
    const Dual<T> whole = floored_union(pred, target, overlap, eps);
    const Dual<T> hull = max(hull_width(pred, target) * hull_height(pred, target), Dual<T>(eps));
    out[0] = Dual<T>(1) - (overlap / whole - (hull - whole) / hull);
  }
};

// IoU with eps added to the union, and (distance of the centres / diagonal of the hull)^2.
template <typename T>
OSPREY_HD void distance_terms(const DualBox<T>& pred, const DualBox<T>& target, T eps, Dual<T>& iou,
                              Dual<T>& distance) {
  const Dual<T> overlap = overlap_area(pred, target);
  iou = overlap / (pred.area() + target.area() - overlap + Dual<T>(eps));
  const Dual<T> diagonal =
      square(hull_width(pred, target)) + square(hull_height(pred, target)) + Dual<T>(eps);
  const Dual<T> dx = (target.x1 + target.x2) - (pred.x1 + pred.x2);
  const Dual<T> dy = (target.y1 + target.y2) - (pred.y1 + pred.y2);
  distance = (square(dx) + square(dy)) / (Dual<T>(4) * diagonal);
}

template <typename T>
struct DIoULossOf {
  static constexpr int kOutputs = 1;
  T eps;
  OSPREY_HD void operator()(const DualBox<T>& pred, const DualBox<T>& target, Dual<T>* out) const {
    Dual<T> iou, distance;
    distance_terms(pred, target, eps, iou, distance);
    out[0] = Dual<T>(1) - (iou - distance);
  }
};

template <typename T>
struct CIoULossOf {
  static constexpr int kOutputs = 1;
  T eps;
  OSPREY_HD void operator()(const DualBox<T>& pred, const DualBox<T>& target, Dual<T>* out) const {
    Dual<T> iou, distance;
    distance_terms(pred, target, eps, iou, distance);
    constexpr T kFactor = T(0.40528473456935108577551785283891);  // 4 / pi^2
    const Dual<T> angle = atan(target.width() / (target.height() + Dual<T>(eps))) -
                          atan(pred.width() / (pred.height() + Dual<T>(eps)));
    const Dual<T> v = Dual<T>(kFactor) * square(angle);
    out[0] = Dual<T>(1) - (iou - distance);
    // Equal shapes have no such term; the reference divides 0 by 0 where the boxes are identical too.
    const Dual<T> slack = Dual<T>(1) - iou + v;
    if (v.value != 0 && slack.value != 0) out[0] = out[0] + square(v) / slack;
  }
};

template <typename T>
struct BoundedIoULossOf {
  static constexpr int kOutputs = 4;
  T beta, eps;
  OSPREY_HD void operator()(const DualBox<T>& pred, const DualBox<T>& target, Dual<T>* out) const {
    out[0] = smoothed(of_shift(pred.x1 + pred.x2, target.x1 + target.x2, target.width()));
    out[1] = smoothed(of_shift(pred.y1 + pred.y2, target.y1 + target.y2, target.height()));
    out[2] = smoothed(of_size(pred.width(), target.width()));
    out[3] = smoothed(of_size(pred.height(), target.height()));
  }

 private:
  // p, t: twice the centres.
  OSPREY_HD Dual<T> of_shift(const Dual<T>& p, const Dual<T>& t, const Dual<T>& size) const {
    const Dual<T> twice = abs(t * Dual<T>(T(0.5)) - p * Dual<T>(T(0.5))) * Dual<T>(2);
    return Dual<T>(1) - max((size - twice) / (size + twice + Dual<T>(eps)), Dual<T>(0));
  }
  OSPREY_HD Dual<T> of_size(const Dual<T>& p, const Dual<T>& t) const {
    return Dual<T>(1) - min(t / (p + Dual<T>(eps)), p / (t + Dual<T>(eps)));
  }
  OSPREY_HD Dual<T> smoothed(const Dual<T>& x) const {
    return x.value < beta ? Dual<T>(T(0.5) / beta) * square(x) : x - Dual<T>(beta / 2);
  }
};

// Row i: the losses of boxes i. `grad` null: writes `loss` (n, kOutputs). Else reads `grad`, like the losses,
// and writes `grad_pred` (n, 4).
template <typename F, typename T>
struct BoxLossRow {
  F loss_of;
  const T *pred, *target;
  T* loss;
  const T* grad;
  T* grad_pred;

  OSPREY_HD void operator()(int64_t i) const {
    const T *p = pred + 4 * i, *t = target + 4 * i;
    const DualBox<T> a{Dual<T>::variable(p[0], 0), Dual<T>::variable(p[1], 1), Dual<T>::variable(p[2], 2),
                       Dual<T>::variable(p[3], 3)};
    const DualBox<T> b{t[0], t[1], t[2], t[3]};
    Dual<T> out[F::kOutputs];
    loss_of(a, b, out);
    if (grad == nullptr) {
      for (int k = 0; k < F::kOutputs; ++k) loss[i * F::kOutputs + k] = out[k].value;
      return;
    }
    for (int c = 0; c < 4; ++c) {
      T sum = 0;
      for (int k = 0; k < F::kOutputs; ++k) sum += grad[i * F::kOutputs + k] * out[k].d[c];
      grad_pred[4 * i + c] = sum;
    }
  }
};

}  // namespace osprey
