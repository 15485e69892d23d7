#pragma once

#include <chrono>
#include <cstdint>

namespace osprey {

// "[>>>>>>          ] 12/32, 1.3 task/s, elapsed: 9s, ETA: 15s" on standard output, as mmcv draws it: in
// place on a terminal, a line per tenth elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(int64_t total);
  void update(int64_t done);

 private:
  int64_t total_;
  int64_t tenths_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace osprey
