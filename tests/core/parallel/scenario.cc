#include "tests/core/parallel/scenario.h"

#include <algorithm>
#include <cmath>

#include "core/base/rng.h"

namespace osprey::testing {

std::map<std::string, std::function<void()>>& scenarios() {
  static std::map<std::string, std::function<void()>> all;
  return all;
}

bool add_scenario(const std::string& name, std::function<void()> body) {
  return scenarios().emplace(name, std::move(body)).second;
}

void expect_near(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
  expect(got.shape() == expected.shape(),
         str_cat(what, ": ", describe(got), " against ", describe(expected)));
  const std::vector<double> a = got.to_doubles(), b = expected.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    expect(std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, std::abs(b[i])),
           str_cat(what, "[", i, "]: ", a[i], ", expected ", b[i]));
  }
}

void expect_same_everywhere(const Tensor& tensor, const std::string& what) {
  const Tensor host = tensor.to(kCPU);
  const std::string bytes(static_cast<const char*>(host.raw()), host.bytes());
  for (const std::string& other : world().all_gather(bytes))
    expect(other == bytes, what + " differs between ranks");
}

Device own_device() {
  const bool cuda = device_count(DeviceType::kCUDA) > world().local_rank();
  return cuda ? Device{DeviceType::kCUDA, world().local_rank()} : kCPU;
}

Tensor random_values(Shape shape, uint64_t seed, DType dtype) {
  CounterRng rng(seed, 0, 0);
  Tensor values(std::move(shape), DType::kF64);
  double* x = values.mutable_data<double>();
  for (int64_t i = 0; i < values.numel(); ++i) x[i] = rng.uniform(-1, 1);
  return values.to(dtype);
}

}  // namespace osprey::testing
