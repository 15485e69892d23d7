#include "tests/golden.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/io/safetensors.h"
#include "tests/golden_report.h"

namespace osprey::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShipped = "tests/golden";

std::vector<fs::path> golden_folders() {
  if (const char* folder = std::getenv("OSPREY_GOLDEN_DIR")) return {folder};
  std::vector<fs::path> folders = {kShipped};
  const fs::path here = fs::current_path();
  for (fs::path base = here; base.has_relative_path(); base = base.parent_path()) {
    folders.push_back(base.parent_path() / "shared/golden");
  }
  return folders;
}

// Empty when no folder has it.
std::string search(const std::string& name) {
  for (const fs::path& folder : golden_folders()) {
    if (fs::exists(folder / name)) return folder / name;
  }
  return "";
}

nlohmann::json read_json(const std::string& path) {
  std::ifstream in(path);
  try {
    return nlohmann::json::parse(in);
  } catch (const nlohmann::json::exception& error) {
    throw Error(str_cat(path, ": ", error.what()));
  }
}

// "detectors/htc.train" -> "detectors/htc".
std::string without_suffixes(const std::string& name) {
  const size_t dot = name.find('.', name.rfind('/') == std::string::npos ? 0 : name.rfind('/'));
  return name.substr(0, dot);
}

// Moves the last axis of (n, rows, cols) before the middle one: the transpose of each of n matrices.
Tensor transpose_inner(const Tensor& tensor, int64_t rows, int64_t cols, Shape shape) {
  Tensor result(std::move(shape), tensor.dtype());
  if (tensor.empty()) return result;
  const size_t width = size_of(tensor.dtype());
  const auto* source = static_cast<const char*>(tensor.raw());
  auto* target = static_cast<char*>(result.mutable_raw());
  const int64_t count = tensor.numel() / (rows * cols);
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t c = 0; c < cols; ++c) {
      for (int64_t r = 0; r < rows; ++r) {
        std::memcpy(target, source + ((n * rows + r) * cols + c) * width, width);
        target += width;
      }
    }
  }
  return result;
}

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

// Elements that are non-finite in both alike count as equal.
double relative_l2(const std::vector<double>& actual, const std::vector<double>& expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double d = distance(actual[i], expected[i]);
    difference += d * d;
    if (std::isfinite(expected[i])) norm += expected[i] * expected[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

void note_error(double error) {
  if (GoldenReport* report = GoldenReport::get()) report->error(error);
}

std::string index_text(int64_t flat, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return "[" + join(index) + "]";
}

}  // namespace

std::string Golden::find_file(const std::string& name) {
  const std::string path = search(name);
  OSPREY_REQUIRE(!path.empty(), "golden file '", name, "' is in none of: ", join(golden_folders()));
  if (GoldenReport* report = GoldenReport::get()) report->opened(name.substr(0, name.rfind('.')), {});
  return path;
}

std::string Golden::shipped_file(const std::string& name) {
  OSPREY_REQUIRE(fs::exists(fs::path(kShipped) / name), kShipped, " has no '", name, "'");
  return fs::path(kShipped) / name;
}

std::vector<std::string> Golden::fixtures(const std::string& folder, const std::string& prefix) {
  std::set<std::string> names;
  for (const fs::path& base : golden_folders()) {
    if (!fs::is_directory(base / folder)) continue;
    for (const auto& file : fs::directory_iterator(base / folder)) {
      const std::string name = file.path().stem();
      if (file.path().extension() == ".json" && starts_with(name, prefix)) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

Golden Golden::open(const std::string& name) { return read(name, search); }

Golden Golden::open_shipped(const std::string& name) {
  return read(name, [](const std::string& file) -> std::string {
    return fs::exists(fs::path(kShipped) / file) ? shipped_file(file) : "";
  });
}

Golden Golden::read(const std::string& name, std::string (*find)(const std::string&)) {
  Golden golden;
  golden.name_ = name;
  const std::string tensors = find(name + ".safetensors");
  std::string json = find(name + ".json");
  if (json.empty()) json = find(without_suffixes(name) + ".json");
  if (tensors.empty() && json.empty()) find_file(name + ".safetensors");  // throws, naming the folders
  if (!tensors.empty()) {
    for (auto& [key, tensor] : read_safetensors(tensors).tensors) golden.tensors_.emplace(key, tensor);
  }
  if (!json.empty()) golden.json_ = std::make_shared<const nlohmann::json>(read_json(json));
  if (GoldenReport* report = GoldenReport::get()) report->opened(name, golden.names());
  return golden;
}

const Tensor& Golden::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  OSPREY_REQUIRE(found != tensors_.end(), "golden ", name_, ": no tensor '", name,
                 "'; there are: ", join(names()));
  if (GoldenReport* report = GoldenReport::get()) report->read(name_, name);
  return found->second;
}

std::vector<std::string> Golden::names() const { return names(""); }

std::vector<std::string> Golden::names(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    if (starts_with(name, prefix)) names.push_back(name);
  }
  return names;
}

const nlohmann::json& Golden::json() const {
  OSPREY_REQUIRE(json_, "golden ", name_, ": there is no ", name_, ".json");
  if (GoldenReport* report = GoldenReport::get()) report->read(name_, "json");
  return *json_;
}

std::vector<std::string> Golden::cases() const {
  std::vector<std::string> cases;
  for (const auto& item : json().at("cases").items()) cases.push_back(item.key());
  return cases;
}

std::vector<std::string> Golden::cases(const std::string& key, const std::vector<std::string>& values) const {
  std::vector<std::string> matching;
  for (const std::string& name : cases()) {
    const bool matches =
        has_param(name, key) && std::count(values.begin(), values.end(), text(name, key)) != 0;
    if (matches) matching.push_back(name);
  }
  OSPREY_REQUIRE(!matching.empty(), "golden ", name_, ": no case has ", key, " ", join(values, " or "));
  return matching;
}

bool Golden::has_param(const std::string& case_name, const std::string& key) const {
  const nlohmann::json& entry = json().at("cases").at(case_name);
  return entry.contains("params") && entry["params"].contains(key);
}

const nlohmann::json& Golden::param(const std::string& case_name, const std::string& key) const {
  OSPREY_REQUIRE(has_param(case_name, key), "golden ", name_, ": case '", case_name, "' has no param '", key,
                 "'");
  return json().at("cases").at(case_name).at("params").at(key);
}

double Golden::number(const std::string& case_name, const std::string& key) const {
  return param(case_name, key).get<double>();
}
int64_t Golden::integer(const std::string& case_name, const std::string& key) const {
  return param(case_name, key).get<int64_t>();
}
bool Golden::flag(const std::string& case_name, const std::string& key) const {
  return param(case_name, key).get<bool>();
}
std::string Golden::text(const std::string& case_name, const std::string& key) const {
  return param(case_name, key).get<std::string>();
}
std::vector<double> Golden::numbers(const std::string& case_name, const std::string& key) const {
  return param(case_name, key).get<std::vector<double>>();
}
std::vector<int64_t> Golden::integers(const std::string& case_name, const std::string& key) const {
  return param(case_name, key).get<std::vector<int64_t>>();
}

std::pair<int64_t, int64_t> Golden::height_width(const std::string& case_name, const std::string& key) const {
  const nlohmann::json& value = param(case_name, key);
  if (value.is_array()) return {value.at(0).get<int64_t>(), value.at(1).get<int64_t>()};
  return {value.get<int64_t>(), value.get<int64_t>()};
}

std::string test_name(const std::string& case_name) {
  std::string name = case_name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

Tensor nchw_to_nhwc(const Tensor& tensor) {
  OSPREY_REQUIRE(tensor.rank() == 4, "nchw_to_nhwc: needs 4 dimensions, got ", describe(tensor));
  const int64_t n = tensor.dim(0), c = tensor.dim(1), h = tensor.dim(2), w = tensor.dim(3);
  return transpose_inner(tensor, c, h * w, {n, h, w, c});
}

Tensor nhwc_to_nchw(const Tensor& tensor) {
  OSPREY_REQUIRE(tensor.rank() == 4, "nhwc_to_nchw: needs 4 dimensions, got ", describe(tensor));
  const int64_t n = tensor.dim(0), h = tensor.dim(1), w = tensor.dim(2), c = tensor.dim(3);
  return transpose_inner(tensor, h * w, c, {n, c, h, w});
}

Tensor uniform(Shape shape, double low, double high, uint64_t seed) {
  Tensor tensor(std::move(shape), DType::kF32);
  if (tensor.empty()) return tensor;
  CounterRng rng(seed);
  float* values = tensor.mutable_data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(rng.uniform(low, high));
  return tensor;
}

double max_abs_diff(const Tensor& a, const Tensor& b) {
  OSPREY_REQUIRE(a.shape() == b.shape(), "max_abs_diff: ", describe(a), " against ", describe(b));
  const std::vector<double> left = a.to_doubles(), right = b.to_doubles();
  double worst = 0;
  for (size_t i = 0; i < left.size(); ++i) worst = std::max(worst, distance(left[i], right[i]));
  return worst;
}

double relative_l2(const Tensor& a, const Tensor& b) {
  OSPREY_REQUIRE(a.shape() == b.shape(), "relative_l2: ", describe(a), " against ", describe(b));
  const double error = relative_l2(a.to_doubles(), b.to_doubles());
  note_error(error);
  return error;
}

::testing::AssertionResult tensor_near(const Tensor& actual, const Tensor& expected, double atol,
                                       double rtol) {
  if (!actual.defined() || !expected.defined() || actual.shape() != expected.shape()) {
    return ::testing::AssertionFailure()
           << "actual is " << describe(actual) << ", expected " << describe(expected);
  }
  const std::vector<double> left = actual.to_doubles(), right = expected.to_doubles();
  if (GoldenReport::get()) note_error(relative_l2(left, right));
  int64_t failures = 0, worst = -1;
  double worst_excess = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const double difference = distance(left[i], right[i]);
    const double allowed = std::isfinite(right[i]) ? atol + rtol * std::abs(right[i]) : 0;
    if (difference <= allowed) continue;
    ++failures;
    if (worst < 0 || difference - allowed > worst_excess) {
      worst = static_cast<int64_t>(i);
      worst_excess = difference - allowed;
    }
  }
  if (failures == 0) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure();
  failure << failures << " of " << left.size() << " elements of " << describe(actual)
          << " differ; the worst at " << index_text(worst, actual.shape()) << ": actual " << left[worst]
          << ", expected " << right[worst] << ", |difference| " << distance(left[worst], right[worst])
          << " > " << atol << " + " << rtol << " * |expected|";
  return failure;
}

::testing::AssertionResult number_near(double actual, double expected, double atol, double rtol) {
  note_error(relative_l2(std::vector<double>{actual}, {expected}));
  const double difference = distance(actual, expected);
  const double allowed = std::isfinite(expected) ? atol + rtol * std::abs(expected) : 0;
  if (difference <= allowed) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "actual " << actual << ", expected " << expected << ", |difference| " << difference << " > "
         << atol << " + " << rtol << " * |expected|";
}

}  // namespace osprey::testing
