#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/config/config.h"
#include "core/detection/batch.h"
#include "core/detection/detector.h"
#include "core/nn/module.h"
#include "tests/golden.h"

namespace osprey::testing {

// The `model:` block of a golden yaml with its train_cfg and test_cfg inside, as a detector is built from it.
ConfigNode golden_model_cfg(const std::string& name);
ConfigNode model_cfg(const std::string& path);

// Every tensor of the fixture whose name starts with `prefix`, without the prefix.
StateDict golden_state(const Golden& weights, const std::string& prefix = "");
// Loads them. Fails unless names and shapes match exactly.
void load_golden_weights(Module& module, const Golden& weights, const std::string& prefix = "");

// inputs.safetensors or inputs_edge.safetensors as a training batch, or its image 0 alone as a test batch.
Batch golden_batch(const Golden& inputs);
Batch first_image(const Batch& batch);

// probe loss of the golden README: sum_i sum(out_i * sin(0.37 k + 0.11 i)) / numel(out_i), k the flat index
// in (n, c, h, w), or in whatever has no such map.
Variable probe_loss(const Variables& outs);

// Largest relative L2 error that the README allows for a tensor: what f32 rounding costs the reference itself
// and what a perturbation of 1e-6 does to it.
double golden_tolerance(double float64_error, double perturbed_change);

// For fixtures that do not say what a perturbation does: the largest relative L2 change of each gradient when
// the weights move by a relative 1e-6, of three draws, measured on the module itself (where a ReLU's input is
// that near to 0, gradients move by far more than rounding). `backward` runs forward and backward. Weights,
// gradients and buffers are left as they were.
std::map<std::string, double> measured_sensitivity(Module& module, const std::function<void()>& backward);

// Compares each parameter's gradient with "grad/NAME" or "grad_sample/NAME" and "grad_norm/NAME". tolerance:
// relative L2 by name; names without an entry get `fallback`. Parameters that the fixture has no gradient for
// must have none.
void expect_golden_gradients(Module& module, const Golden& golden,
                             const std::map<std::string, double>& tolerance, double fallback);

// Every row of `expected` has a partner in `actual` with the same label (undefined: all alike) whose columns
// differ by at most box_tolerance (the first four) and score_tolerance, and both have the same number of
// rows.
void expect_same_boxes(const Tensor& actual, const Tensor& actual_labels, const Tensor& expected,
                       const Tensor& expected_labels, double box_tolerance, double score_tolerance);

}  // namespace osprey::testing
