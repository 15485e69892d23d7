#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "losses/accuracy.h"
#include "tests/devices.h"
#include "tests/losses/loss_golden.h"

// Every case of the fixtures of losses, read from their json, on every device of the build.
namespace osprey::testing {
namespace {

// One case, or several that follow each other on one loss with memory.
struct Sequence {
  std::vector<std::string> cases;
};

// "ghmc_b30_m0.75_step0", "..._step1" belong together; "..._step0_state" holds what the first left behind.
std::vector<Sequence> sequences_of(const Golden& golden) {
  static const std::regex kStep("(.*)_step([0-9]+)"), kState(".*_step[0-9]+_state");
  std::map<std::string, std::map<int, std::string>> steps;
  std::vector<Sequence> sequences;
  for (const std::string& name : golden.cases()) {
    std::smatch match;
    if (std::regex_match(name, kState)) continue;
    if (std::regex_match(name, match, kStep)) {
      steps[match[1]][std::stoi(match[2])] = name;
    } else {
      sequences.push_back({{name}});
    }
  }
  for (const auto& [base, numbered] : steps) {
    sequences.emplace_back();
    for (const auto& [number, name] : numbered) sequences.back().cases.push_back(name);
  }
  return sequences;
}

class LossCase {
 public:
  LossCase(const Golden& golden, std::string name, Device device, bool of_logits)
      : golden_(golden), name_(std::move(name)), device_(device), of_logits_(of_logits) {}

  const nlohmann::json& params() const { return golden_.json()["cases"][name_]["params"]; }
  Tensor tensor(const char* key) const {
    return has(key) ? golden_.tensor(name_ + "/" + key).to(device_) : Tensor();
  }
  bool has(const char* key) const { return golden_.has(name_ + "/" + key); }

  // The loss that the case configures: its parameters but for those of the call.
  std::unique_ptr<Loss> build_loss() const {
    nlohmann::json config = params();
    config["type"] = config["loss"];
    config.erase("loss");
    config.erase("avg_factor");
    if (config["type"] == "torch cross_entropy") {  // the semantic head's
      config["type"] = "CrossEntropyLoss";
      config["avg_non_ignore"] = true;
    }
    if (has("class_weight")) config["class_weight"] = tensor("class_weight").to_vector<float>();
    auto loss = build<Loss>(parse_config(config.dump()));
    loss->to(device_);
    return loss;
  }

  void check(Loss& loss) const {
    SCOPED_TRACE(name_ + " on " + device_name(device_));
    LossWeights weights;
    weights.weight = tensor("weight");
    if (params().contains("avg_factor") && !params()["avg_factor"].is_null())
      weights.avg_factor = params()["avg_factor"];
    const Variable pred(as_loss_sees(tensor("pred")), /*requires_grad=*/true);
    const Variable value = loss(pred, target(), weights);
    expect_near(value.value(), tensor("loss"), size());
    value.backward(has("grad_loss") ? tensor("grad_loss")
                                    : Tensor::full(value.shape(), 1, DType::kF32, device_));
    expect_near(pred.grad(), as_loss_sees(tensor("grad_pred")), 1);
    loss.commit_buffers();
    check_state(loss);
  }

 private:
  // The size of the logits, at least 1: the loss of a logit of 1e6 is as large, and so is its rounding.
  double size() const {
    double largest = 1;
    if (!of_logits_) return largest;
    for (const double x : tensor("pred").to_doubles()) largest = std::max(largest, std::abs(x));
    return largest;
  }

  // Where the reference has 0 / 0 (nothing but ignored labels, CIoU of identical boxes) ours is finite.
  static void expect_near(Tensor actual, Tensor expected, double scale) {
    actual = actual.to(kCPU).to(DType::kF32);
    expected = expected.to(kCPU).clone();
    ASSERT_EQ(actual.numel(), expected.numel());
    for (int64_t i = 0; i < actual.numel(); ++i) {
      float& e = expected.mutable_data<float>()[i];
      const float a = actual.data<float>()[i];
      if (std::isnan(e)) {
        EXPECT_TRUE(std::isfinite(a)) << i;
        e = a;
      }
    }
    EXPECT_TENSOR_NEAR(actual.reshape(expected.shape()), expected, 1e-6 * scale, 1e-5);
  }

  Tensor target() const { return has("target") ? tensor("target") : tensor("label"); }

  // Maps come as (n, c, h, w); the mask loss gets each RoI's own channel of them.
  Tensor as_loss_sees(const Tensor& pred) const {
    if (pred.rank() != 4) return pred;
    if (!params().value("use_mask", false)) return nchw_to_nhwc(pred.to(kCPU)).to(device_);
    const Tensor labels = tensor("label").to(kCPU);
    Tensors planes;
    for (int64_t i = 0; i < pred.dim(0); ++i) {
      const int64_t channel = pred.dim(1) == 1 ? 0 : labels.data<int64_t>()[i];
      planes.push_back(pred[i].slice(channel, channel + 1));
    }
    return concat(planes);
  }

  void check_state(Loss& loss) const {
    for (const std::string& name : golden_.names(name_ + "_state/")) {
      const std::string buffer = name.substr(name_.size() + 7);
      const StateDict state = loss.state_dict();
      ASSERT_NE(state.find(buffer), nullptr) << buffer;
      EXPECT_TENSOR_NEAR(state.find(buffer)->to(kCPU), golden_.tensor(name), 1e-6, 1e-6);
    }
  }

  const Golden& golden_;
  std::string name_;
  Device device_;
  bool of_logits_;
};

void check_accuracy(const Golden& golden, const std::string& name, Device device) {
  const Tensor pred = golden.tensor(name + "/pred").to(device),
               label = golden.tensor(name + "/label").to(device);
  const std::vector<int64_t> topk = golden.integers(name, "topk");
  for (size_t i = 0; i < topk.size(); ++i) {
    const Tensor& expected = golden.tensor(name + "/acc" + std::to_string(i));
    EXPECT_NEAR(accuracy(pred, label, topk[i]).item(), expected.item(), 1e-5) << name;
  }
}

class GoldenLosses : public ::testing::TestWithParam<std::tuple<const char*, Device>> {};

TEST_P(GoldenLosses, AgreeWithTheReference) {
  const auto [fixture, device] = GetParam();
  const Golden golden = Golden::open(std::string("ops/") + fixture);
  const bool of_logits = std::string(fixture) == "losses_cls";
  for (const Sequence& sequence : sequences_of(golden)) {
    if (!golden.has_param(sequence.cases[0], "loss")) {
      ASSERT_TRUE(golden.has_param(sequence.cases[0], "topk"))
          << sequence.cases[0] << ": an unknown kind of case";
      check_accuracy(golden, sequence.cases[0], device);
      continue;
    }
    const std::unique_ptr<Loss> loss = LossCase(golden, sequence.cases[0], device, of_logits).build_loss();
    for (const std::string& name : sequence.cases) LossCase(golden, name, device, of_logits).check(*loss);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenLosses,
                         ::testing::Combine(::testing::Values("losses_cls", "losses_reg"),
                                            ::testing::ValuesIn(devices_in_build())),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  device_name(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace osprey::testing
