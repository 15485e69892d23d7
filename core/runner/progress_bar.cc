#include "core/runner/progress_bar.h"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace osprey {

ProgressBar::ProgressBar(int64_t total)
    : total_(total), terminal_(::isatty(STDOUT_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

void ProgressBar::update(int64_t done) {
  if (total_ <= 0) return;
  const int64_t tenths = done * 10 / total_;
  if (!terminal_ && tenths == tenths_) return;
  tenths_ = tenths;
  constexpr int64_t kWidth = 40;
  const auto filled = static_cast<size_t>(kWidth * done / total_);
  const std::string bar = std::string(filled, '>') + std::string(kWidth - filled, ' ');
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  const double left = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  std::printf("%s[%s] %ld/%ld, %.1f task/s, elapsed: %.0fs, ETA: %5.0fs%s", terminal_ ? "\r" : "",
              bar.c_str(), static_cast<long>(done), static_cast<long>(total_), rate, elapsed, left,
              !terminal_ || done == total_ ? "\n" : "");
  std::fflush(stdout);
}

}  // namespace osprey
