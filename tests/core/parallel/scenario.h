#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/parallel/communicator.h"

// What several processes go through together; tests/core/parallel/ranks_main runs one by its name, on every
// rank. A wrong result throws.
namespace osprey::testing {

std::map<std::string, std::function<void()>>& scenarios();
bool add_scenario(const std::string& name, std::function<void()> body);

inline void expect(bool condition, const std::string& message) {
  if (!condition) throw Error("wrong: " + message);
}
// Each element within tolerance * max(1, |expected|).
void expect_near(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what);
// Bitwise the same on every rank.
void expect_same_everywhere(const Tensor& tensor, const std::string& what);

// Where this build computes: the CPU, or the GPU of the local rank.
Device own_device();
// Numbers in [-1, 1) that follow from the seed.
Tensor random_values(Shape shape, uint64_t seed, DType dtype = DType::kF32);

}  // namespace osprey::testing

#define OSPREY_SCENARIO(name)                                                                                \
  static void scenario_##name();                                                                             \
  [[maybe_unused]] static const bool added_##name = ::osprey::testing::add_scenario(#name, scenario_##name); \
  static void scenario_##name()
