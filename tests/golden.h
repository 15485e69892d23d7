#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>  // the declaration alone: include <nlohmann/json.hpp> to walk json()
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

namespace osprey::testing {

// One reference fixture: NAME.safetensors with tensors "case/name" and NAME.json with the parameters of each
// case; a fixture may have only one of the two. "detectors/htc.train" falls back to detectors/htc.json.
// Tensors are as stored, i.e. in PyTorch's layouts.
//
//   const Golden golden = Golden::open("ops/roi_align");
//   for (const std::string& name : golden.cases()) {
//     const double scale = golden.number(name, "spatial_scale");
//     const Tensor input = nchw_to_nhwc(golden.tensor(name + "/input"));
//
// With $OSPREY_GOLDEN_DIR set files come from there and from nowhere else; without, from tests/golden (which
// ships with the tests), then from ../shared/golden of the working directory and its parents. Tests read
// cases, sizes and parameters from the files: fixtures of other seeds, sizes and names pass unchanged. All
// functions throw Error, with the names there are, when something is missing: a test without its fixture
// fails.
//
// $OSPREY_GOLDEN_REPORT names a file that collects the errors (tests/golden_report.h).
class Golden {
 public:
  static Golden open(const std::string& name);
  // Path of any fixture file: "checkpoint/misc_zip.pth".
  static std::string find_file(const std::string& name);
  // A fixture, or the path of a file, that ships with the tests, wherever the others come from: a small model
  // and its images for tests that judge no numbers.
  static Golden open_shipped(const std::string& name);
  static std::string shipped_file(const std::string& name);
  // The names, without ".json", of all fixtures of a folder that start with `prefix`; none when there is no
  // such folder: for INSTANTIATE_TEST_SUITE_P, which fails then.
  static std::vector<std::string> fixtures(const std::string& folder, const std::string& prefix = "");

  bool has(const std::string& tensor) const { return tensors_.count(tensor) != 0; }
  const Tensor& tensor(const std::string& name) const;
  std::vector<std::string> names() const;                           // sorted
  std::vector<std::string> names(const std::string& prefix) const;  // those that start with it

  const nlohmann::json& json() const;
  std::vector<std::string> cases() const;  // the keys of json()["cases"], in alphabetical order
  // Those whose param `key` is one of `values`; at least one, or the fixture has lost what a test is about.
  std::vector<std::string> cases(const std::string& key, const std::vector<std::string>& values) const;

  // json()["cases"][case]["params"][key].
  bool has_param(const std::string& case_name, const std::string& key) const;
  double number(const std::string& case_name, const std::string& key) const;
  int64_t integer(const std::string& case_name, const std::string& key) const;
  bool flag(const std::string& case_name, const std::string& key) const;
  std::string text(const std::string& case_name, const std::string& key) const;
  std::vector<double> numbers(const std::string& case_name, const std::string& key) const;
  std::vector<int64_t> integers(const std::string& case_name, const std::string& key) const;
  // One number for both axes, or [h, w].
  std::pair<int64_t, int64_t> height_width(const std::string& case_name, const std::string& key) const;

 private:
  // Of files as `find` finds them, which gives "" where there is none.
  static Golden read(const std::string& name, std::string (*find)(const std::string&));
  const nlohmann::json& param(const std::string& case_name, const std::string& key) const;

  std::string name_;
  std::map<std::string, Tensor> tensors_;
  std::shared_ptr<const nlohmann::json> json_;
};

// "htc-r50.1" -> "htc_r50_1": a case as GoogleTest can name it.
std::string test_name(const std::string& case_name);

// (n, c, h, w) <-> (n, h, w, c), any dtype. The same permutation turns a conv weight from OIHW into OHWI.
Tensor nchw_to_nhwc(const Tensor& tensor);
Tensor nhwc_to_nchw(const Tensor& tensor);

// Uniform in [low, high), f32; the numbers depend on the seed alone.
Tensor uniform(Shape shape, double low, double high, uint64_t seed);

// Largest |a - b|; equal infinities and NaN beside NaN count as 0, other non-finite pairs as infinity. Shapes
// must agree, dtypes need not.
double max_abs_diff(const Tensor& a, const Tensor& b);
// ||a - b|| / ||b||, and ||a|| when b is zero.
double relative_l2(const Tensor& a, const Tensor& b);

// Every |actual - expected| <= atol + rtol * |expected|; names the worst element otherwise. NaN matches NaN,
// an infinity the same infinity. Dtypes need not agree.
::testing::AssertionResult tensor_near(const Tensor& actual, const Tensor& expected, double atol,
                                       double rtol);

// The same for one number.
::testing::AssertionResult number_near(double actual, double expected, double atol, double rtol);

#define EXPECT_NUMBER_NEAR(actual, expected, atol, rtol) \
  EXPECT_TRUE(::osprey::testing::number_near(actual, expected, atol, rtol))
#define EXPECT_TENSOR_NEAR(actual, expected, atol, rtol) \
  EXPECT_TRUE(::osprey::testing::tensor_near(actual, expected, atol, rtol))
#define ASSERT_TENSOR_NEAR(actual, expected, atol, rtol) \
  ASSERT_TRUE(::osprey::testing::tensor_near(actual, expected, atol, rtol))
// Same shape and values; dtypes need not agree.
#define EXPECT_TENSOR_EQ(actual, expected) EXPECT_TENSOR_NEAR(actual, expected, 0.0, 0.0)

}  // namespace osprey::testing
