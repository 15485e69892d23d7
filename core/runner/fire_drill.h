#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/autograd/variable.h"
#include "core/config/config.h"
#include "core/nn/module.h"

namespace osprey {

// Faults put in on purpose, to see that a run survives them and names them:
// `debug: {inject: [{at: roi_head.bbox_head.0.fc_cls, phase: backward, iter: 3, value: inf}]}`.
// `at` is a module (forward: its first output; backward: its first gradient) or, with phase backward, a
// parameter (its gradient). `iter` counts from 0. One element becomes `value`.
class FireDrill {
 public:
  FireDrill() = default;
  // `debug` is the config's block, or null.
  explicit FireDrill(const ConfigNode& debug);

  // Throws UserError when an `at` names nothing in the model.
  void check(Module& model) const;

  // Arms the faults of this iteration; a replay of the iteration arms them again.
  void begin(int64_t iter);
  bool armed() const;
  // For the op observer: poisons the value when its module is due.
  void on_op(const OpEvent& event);
  // After backward: poisons parameter gradients that are due.
  void poison_gradients(Module& model);
  // "debug.inject[0]", for the diagnosis; "" when nothing was put in since begin().
  const std::string& fired() const { return fired_; }

 private:
  struct Fault {
    std::string at;
    bool backward;
    int64_t iter;
    double value;
    std::string origin;
    bool due = false;
  };
  void poison(Fault& fault, Tensor value);

  std::vector<Fault> faults_;
  std::string fired_;
};

}  // namespace osprey
