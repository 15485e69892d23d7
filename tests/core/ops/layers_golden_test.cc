// Layers of the fixture that are no op of their own here, and what the fixture may hold at all.
#include <nlohmann/json.hpp>
#include <set>

#include "core/ops/elementwise.h"
#include "core/ops/losses.h"
#include "core/ops/pool2d.h"
#include "core/ops/reflect_pad.h"
#include "tests/core/ops/op_check.h"

namespace osprey {
namespace {

using testing::expect_golden;
using testing::Golden;
using testing::nchw_to_nhwc;
using testing::nhwc_to_nchw;
using testing::run_op;

TEST(LayersGolden, ActivationsAgreeWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"relu", "sigmoid", "logsigmoid"})) {
    const std::string op = golden.text(name, "op");
    const auto run = run_op(
        [&](const Variables& in) {
          if (op == "relu") return relu(in[0]);
          if (op == "sigmoid") return sigmoid(in[0]);
          return -1.0 * bce_with_logits(in[0], Tensor::full(in[0].shape(), 1, DType::kF32));
        },
        {golden.tensor(name + "/input")}, golden.tensor(name + "/grad_output"));
    expect_golden(run.value, golden.tensor(name + "/output"), name);
    expect_golden(run.gradients[0], golden.tensor(name + "/grad_input"), name);
  }
}

// The cross entropy of label c is -log_softmax in column c, and so are the gradients.
TEST(LayersGolden, CrossEntropyIsTheReferencesLogSoftmax) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"log_softmax"})) {
    SCOPED_TRACE(name);
    ASSERT_EQ(golden.integer(name, "dim"), 1);
    const Variable x(golden.tensor(name + "/input"), /*requires_grad=*/true);
    ASSERT_EQ(x.value().rank(), 2u);
    const std::vector<double> grad_output = golden.tensor(name + "/grad_output").to_doubles();
    const int64_t rows = x.dim(0), classes = x.dim(1);
    Tensor output({rows, classes}, DType::kF32);
    for (int64_t c = 0; c < classes; ++c) {
      const Variable column =
          softmax_cross_entropy(x, Tensor::full({rows}, static_cast<double>(c), DType::kI64), -100);
      Tensor grad({rows}, DType::kF32);
      for (int64_t r = 0; r < rows; ++r) {
        output.mutable_data<float>()[r * classes + c] = -column.value().data<float>()[r];
        grad.mutable_data<float>()[r] =
            static_cast<float>(-grad_output[static_cast<size_t>(r * classes + c)]);
      }
      column.backward(grad);  // gradients add up
    }
    expect_golden(output, golden.tensor(name + "/output"), name);
    expect_golden(x.grad(), golden.tensor(name + "/grad_input"), name);
  }
}

TEST(LayersGolden, ReflectedAveragesAgreeWithTheReference) {
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases("op", {"reflect pad 2 + avg_pool2d 5x5 s1"})) {
    const auto run = run_op(
        [](const Variables& in) {
          return avg_pool2d(reflect_pad2d(in[0], 2), {5, 1});
        },
        {nchw_to_nhwc(golden.tensor(name + "/input"))}, nchw_to_nhwc(golden.tensor(name + "/grad_output")));
    expect_golden(nhwc_to_nchw(run.value), golden.tensor(name + "/output"), name);
    expect_golden(nhwc_to_nchw(run.gradients[0]), golden.tensor(name + "/grad_input"), name);
  }
}

// A case of another kind would be run by nothing.
TEST(LayersGolden, EveryCaseIsOfAKindThatATestRuns) {
  const std::set<std::string> run_here{"relu", "sigmoid", "logsigmoid", "log_softmax",
                                       "reflect pad 2 + avg_pool2d 5x5 s1"};
  const std::set<std::string> run_elsewhere{
      "conv2d",     "conv_transpose2d",   "linear",     "softmax",  "interpolate", "max_pool2d",
      "avg_pool2d", "batch_norm",         "group_norm", "ConvWS2d", "ConvAWS2d",   "ConvAWS2d state loading",
      "SAConv2d",   "adaptive_avg_pool2d"};
  const Golden golden = Golden::open("ops/layers");
  for (const std::string& name : golden.cases()) {
    const std::string op = golden.text(name, "op");
    EXPECT_TRUE(run_here.count(op) + run_elsewhere.count(op) == 1) << name << ": unknown op '" << op << "'";
  }
  const std::set<std::string> coders{"encode",      "decode",        "bbox2roi",
                                     "bbox2result", "distance2bbox", "bbox2distance",
                                     "bbox_flip",   "bbox_mapping",  "bbox_mapping_back"};
  const Golden boxes = Golden::open("ops/bbox_coder");
  for (const std::string& name : boxes.cases()) EXPECT_EQ(coders.count(boxes.text(name, "op")), 1u) << name;
  const std::set<std::string> transforms{"imresize", "imrescale",  "imnormalize", "impad_to_multiple",
                                         "impad",    "RandomFlip", "Resize",      "imread"};
  const Golden pipeline = Golden::open("ops/pipeline");
  for (const std::string& name : pipeline.cases())
    EXPECT_EQ(transforms.count(pipeline.text(name, "op")), 1u) << name;
  const Golden optim = Golden::open("ops/optim");
  for (const std::string& name : optim.cases()) {
    EXPECT_TRUE(optim.has_param(name, "optimizer") || optim.text(name, "op") == "clip_grad_norm_") << name;
  }
}

}  // namespace
}  // namespace osprey
