#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "losses/loss.h"
#include "tests/golden.h"

// Runs a registered loss on the cases of a fixture, value and gradient.
namespace osprey::testing {

inline std::unique_ptr<Loss> loss_of(const std::string& keys) {
  return build<Loss>(parse_config("{" + keys + "}"));
}

// The loss that a case configures: its parameters but for those of the call.
inline std::unique_ptr<Loss> loss_of(const Golden& golden, const std::string& name) {
  nlohmann::json config = golden.json()["cases"][name]["params"];
  config["type"] = config["loss"];
  config.erase("loss");
  config.erase("avg_factor");
  if (golden.has(name + "/class_weight")) {
    config["class_weight"] = golden.tensor(name + "/class_weight").to_vector<float>();
  }
  return build<Loss>(parse_config(config.dump()));
}

// Expects value and gradient of `loss` on the inputs of the case, `scale` being the size of its numbers.
inline void expect_golden_loss(const Golden& golden, const std::string& name, const Loss& loss,
                               double scale) {
  SCOPED_TRACE(name);
  const auto tensor = [&](const char* key) {
    return golden.has(name + "/" + key) ? golden.tensor(name + "/" + key) : Tensor();
  };
  LossWeights weights;
  weights.weight = tensor("weight");
  const nlohmann::json& params = golden.json()["cases"][name]["params"];
  if (params.contains("avg_factor") && !params["avg_factor"].is_null())
    weights.avg_factor = params["avg_factor"];
  const Variable pred(tensor("pred"), /*requires_grad=*/true);
  const Tensor target = tensor("target").defined() ? tensor("target") : tensor("label");
  const Variable value = loss(pred, target, weights);
  ASSERT_EQ(value.shape(), tensor("loss").shape());
  EXPECT_TENSOR_NEAR(value.value(), tensor("loss"), 1e-6 * scale, 1e-5);
  value.backward(tensor("grad_loss").defined() ? tensor("grad_loss")
                                               : Tensor::full(value.shape(), 1, DType::kF32));
  EXPECT_TENSOR_NEAR(pred.grad(), tensor("grad_pred"), 1e-6, 1e-5);
}

// All cases of the loss `type` whose name starts with `prefix`; returns how many those are.
inline int expect_golden_losses(const std::string& fixture, const std::string& type,
                                const std::string& prefix, double scale = 1) {
  const Golden golden = Golden::open(fixture);
  int count = 0;
  for (const std::string& name : golden.cases()) {
    if (!golden.has_param(name, "loss") || golden.text(name, "loss") != type) continue;
    if (name.rfind(prefix, 0) != 0) continue;
    const double size = name.find("extreme") == std::string::npos ? scale : 1e6;
    expect_golden_loss(golden, name, *loss_of(golden, name), size);
    ++count;
  }
  return count;
}

}  // namespace osprey::testing
