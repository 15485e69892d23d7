#include "core/base/rng.h"

#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace osprey {
namespace {

// splitmix64: spreads (seed, a, b) so that neighbouring streams have unrelated keys.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<uint32_t>(product0)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

}  // namespace

CounterRng::CounterRng(uint64_t seed, uint64_t a, uint64_t b) : seed_(seed), a_(a), b_(b) {}

void CounterRng::refill() {
  const uint64_t key = mix(seed_ ^ mix(a_));
  const uint64_t stream = mix(b_ ^ mix(a_ + 0x632BE59BD9B4E019ull));
  buffer_ = philox({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                    static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)},
                   static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
  ++block_;
  used_ = 0;
}

uint32_t CounterRng::next_u32() {
  if (used_ == 4) refill();
  return buffer_[used_++];
}

float CounterRng::uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }

double CounterRng::uniform(double low, double high) {
  const uint64_t bits = (uint64_t{next_u32()} << 21) ^ (next_u32() >> 11);
  return low + (high - low) * (static_cast<double>(bits & ((1ull << 53) - 1)) * 0x1p-53);
}

double CounterRng::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
  return radius * std::cos(2 * M_PI * uniform(0, 1));
}

int64_t CounterRng::randint(int64_t n) {
  OSPREY_REQUIRE(n > 0, "randint: n must be positive, got ", n);
  const uint64_t bits = (uint64_t{next_u32()} << 32) | next_u32();
  return static_cast<int64_t>((static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(n)) >> 64);
}

std::vector<int64_t> CounterRng::permutation(int64_t n) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[randint(i + 1)]);
  return order;
}

CounterRng::State CounterRng::state() const { return {seed_, a_, b_, block_ * 4 - (4 - used_)}; }

void CounterRng::set_state(const State& state) {
  seed_ = state.seed;
  a_ = state.a;
  b_ = state.b;
  block_ = state.position / 4;
  used_ = 4;
  for (uint64_t i = 0; i < state.position % 4; ++i) next_u32();
}

}  // namespace osprey
