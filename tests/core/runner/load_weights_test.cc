#include "core/runner/load_weights.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "core/runner/name_list.h"
#include "tests/golden.h"

namespace osprey {
namespace {

// Parameters of the given names, two elements each, and BatchNorm's counter.
class Model final : public Module {
 public:
  explicit Model(const std::vector<std::string>& names) {
    for (const std::string& name : names) add_parameter(name, Tensor::zeros({2}, DType::kF32));
    add_buffer("bn.num_batches_tracked", Tensor::zeros({}, DType::kI64));
  }
  std::vector<double> values(const std::string& name) { return state_dict().find(name)->to_doubles(); }
};

StateDict weights(const std::vector<std::string>& names) {
  StateDict state;
  for (const std::string& name : names) state.put(name, Tensor::from<float>({1, 2}, {2}));
  return state;
}

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(FoldNames, ListsFewAndFoldsMany) {
  EXPECT_EQ(fold_names({"a.b", "c"}, 2), "a.b, c");
  EXPECT_EQ(fold_names({"backbone.layer1.0.conv1.weight", "backbone.layer1.0.bn1.weight",
                        "backbone.layer2.0.conv1.weight", "rpn_head.rpn_cls.bias"},
                       3),
            "backbone.layer1.0.* (2 keys), backbone.layer2.0.conv1.weight, rpn_head.rpn_cls.bias");
  std::vector<std::string> many;
  for (int i = 0; i < 1000; ++i) many.push_back(str_cat("x.", i));
  EXPECT_EQ(fold_names(many), "x.* (1000 keys)");
  EXPECT_EQ(fold_names({}), "");
}

TEST(LoadWeights, ReportsWhatDoesNotMatchAndRefusesStrangers) {
  Model model({"weight", "head"});
  StateDict state = weights({"other"});
  EXPECT_NE(complaint([&] { load_weights(model, state, "a.pth"); }).find("none of its 1 tensors fits"),
            std::string::npos);
  state = weights({"other", "weight"});
  state.put("head", Tensor::zeros({3}, DType::kF32));
  ::testing::internal::CaptureStdout();
  load_weights(model, state, "a.pth");
  const std::string log = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("the model and loaded state dict do not match exactly\n"
                     "size mismatch for head: shape (3) in the checkpoint, (2) in the model\n"
                     "unexpected key in source state_dict: other"),
            std::string::npos)
      << log;
  EXPECT_EQ(model.values("weight")[1], 2);
  state.put("weight", Tensor::full({2}, std::numeric_limits<double>::infinity(), DType::kF32));
  EXPECT_THROW(load_weights(model, state, "a.pth"), UserError);
}

TEST(LoadWeights, ManySizesAreToldTogetherAndErrorsTakeOneLine) {
  LoadReport report;
  for (int i = 0; i < 30; ++i) report.mismatched.push_back(str_cat("backbone.", i, ": shape (1) ..."));
  report.missing = {"a"};
  EXPECT_EQ(summarise_mismatch(report),
            "size mismatch for 30 tensors: backbone.* (30 keys); the first is backbone.0: shape (1) ...; "
            "missing keys "
            "in source state_dict: a");
  EXPECT_NE(describe_mismatch(report).find("\nsize mismatch for 30 tensors"), std::string::npos);
  EXPECT_EQ(describe_mismatch({}), "");
}

TEST(LoadWeights, UnderstandsNamesOfOlderReleases) {
  Model model({"layer2.conv2.conv_offset.weight", "layer2.conv2.conv_offset.bias", "layer2.conv2.weight"});
  const LoadReport report =
      match_weights(model, weights({"module.layer2.conv2_offset.weight", "module.layer2.conv2_offset.bias",
                                    "module.layer2.conv2.weight"}));
  EXPECT_TRUE(report.clean()) << describe_mismatch(report);
  EXPECT_EQ(model.values("layer2.conv2.conv_offset.bias")[0], 1);
  EXPECT_TRUE(match_weights(model, model.state_dict()).clean());
}

// A quarter is the limit, and a size that does not fit is always another model's.
TEST(LoadWeightsToTest, RefusesAnotherModelsCheckpoint) {
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  Model model(names);
  const auto load = [&](const StateDict& state) {
    return complaint([&] { load_weights_to_test(model, state, "x.pth"); });
  };
  EXPECT_EQ(load(weights(names)), "accepted");
  EXPECT_EQ(load(weights({"a", "b", "c"})), "accepted");
  EXPECT_NE(load(weights({"a", "b"})).find("missing keys in source state_dict: c, d"), std::string::npos);
  EXPECT_NE(load(weights({"a", "b", "c", "d", "x", "y"})).find("unexpected key"), std::string::npos);
  EXPECT_EQ(load(weights({"a", "b", "c", "d", "ema_a", "ema_b", "ema_c", "ema_d"})), "accepted");
  StateDict resized = weights(names);
  resized.put("d", Tensor::zeros({5}, DType::kF32));
  EXPECT_NE(load(resized).find("x.pth: this is a checkpoint of another model"), std::string::npos);
}

}  // namespace
}  // namespace osprey
