#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace osprey {

// Counter-based generator, Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC'11). A stream is named by (seed, a, b), e.g. (seed, epoch, sample index): its numbers depend on nothing
// else, so results do not depend on the number of workers, and the whole state fits a checkpoint.
class CounterRng {
 public:
  explicit CounterRng(uint64_t seed, uint64_t a = 0, uint64_t b = 0);

  uint32_t next_u32();
  // Uniform in [0, 1), 24 bits.
  float uniform();
  // Uniform in [low, high).
  double uniform(double low, double high);
  // Standard normal (Box-Muller).
  double normal();
  // Uniform integer in [0, n). Requires n > 0.
  int64_t randint(int64_t n);
  // A random permutation of 0..n-1 (Fisher-Yates).
  std::vector<int64_t> permutation(int64_t n);

  struct State {
    uint64_t seed, a, b, position;
  };
  State state() const;
  void set_state(const State& state);

 private:
  void refill();

  uint64_t seed_, a_, b_;
  uint64_t block_ = 0;  // counter of the next block
  std::array<uint32_t, 4> buffer_{};
  int used_ = 4;
};

}  // namespace osprey
