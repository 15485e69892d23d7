#include "core/ops/elementwise.h"

#include "core/ops/elementwise_kernel.h"
#include "core/ops/map.h"

namespace osprey {

Variable operator+(const Variable& a, const Variable& b) {
  const OpScope scope("add");
  return record("add", map<Add>({a.value(), b.value()}), {a, b}, [](const Tensor& g) {
    return Gradients{g, g};
  });
}

Variable operator-(const Variable& a, const Variable& b) {
  const OpScope scope("subtract");
  return record("subtract", map<Subtract>({a.value(), b.value()}), {a, b}, [](const Tensor& g) {
    return Gradients{g, map<Scale>({g}, -1.0)};
  });
}

Variable operator*(const Variable& a, const Variable& b) {
  const OpScope scope("multiply");
  return record("multiply", map<Multiply>({a.value(), b.value()}), {a, b},
                [x = a.value(), y = b.value(), need_x = a.requires_grad(),
                 need_y = b.requires_grad()](const Tensor& g) {
                  return Gradients{need_x ? map<Multiply>({g, y}) : Tensor(),
                                   need_y ? map<Multiply>({g, x}) : Tensor()};
                });
}

Variable operator*(double scale, const Variable& x) {
  const OpScope scope("scale");
  return record("scale", map<Scale>({x.value()}, scale), {x},
                [scale](const Tensor& g) { return Gradients{map<Scale>({g}, scale)}; });
}

Variable operator+(const Variable& x, double offset) {
  const OpScope scope("offset");
  return record("offset", map<Offset>({x.value()}, offset), {x},
                [](const Tensor& g) { return Gradients{g}; });
}

Variable relu(const Variable& x) {
  const OpScope scope("relu");
  Tensor y = map<Relu>({x.value()});
  return record("relu", y, {x}, [y](const Tensor& g) { return Gradients{map<ReluGrad>({y, g})}; });
}

Variable sigmoid(const Variable& x) {
  const OpScope scope("sigmoid");
  Tensor y = map<Sigmoid>({x.value()});
  return record("sigmoid", y, {x}, [y](const Tensor& g) { return Gradients{map<SigmoidGrad>({y, g})}; });
}

Variable exp(const Variable& x) {
  const OpScope scope("exp");
  Tensor y = map<Exp>({x.value()});
  return record("exp", y, {x}, [y](const Tensor& g) { return Gradients{map<Multiply>({y, g})}; });
}

Variable add_relu(const Variable& a, const Variable& b) {
  const OpScope scope("add_relu");
  Tensor y = map<AddRelu>({a.value(), b.value()});
  return record("add_relu", y, {a, b}, [y](const Tensor& g) {
    const Tensor masked = map<ReluGrad>({y, g});
    return Gradients{masked, masked};
  });
}

Variable cast(const Variable& x, DType dtype) {
  const OpScope scope("cast");
  if (x.dtype() == dtype) return x;
  // The tape converts a gradient to its input's dtype by itself.
  return record("cast", x.value().to(dtype), {x}, [](const Tensor& g) { return Gradients{g}; });
}

}  // namespace osprey
