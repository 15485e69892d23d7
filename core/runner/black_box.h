#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace osprey {

// One training iteration as its black box has it.
struct BlackBoxEntry {
  enum class Outcome : uint32_t { kRunning, kCommitted, kAccumulated, kSkipped };
  Outcome outcome = Outcome::kRunning;  // kRunning: the process ended inside it
  int64_t iter = 0;                     // from 1
  int64_t epoch = 0;                    // from 1
  double began = 0;                     // seconds since 1970
  double seconds = 0;                   // 0 while it runs
  double lr = 0;
  double loss_scale = 1;
  double grad_norm = 0;  // before clipping; NaN where there is none
  std::vector<std::pair<std::string, double>> losses;
  std::string images;  // file names, cut at 510 bytes
};

// The last 512 iterations of a run in a small file that is mapped into memory: what was written before a
// SIGKILL, a crash or an out-of-memory end of the process is there. Writing costs a microsecond and no system
// call. A run that continues in the same folder continues the ring.
class BlackBox {
 public:
  static constexpr int64_t kEntries = 512;

  // Creates or continues the file. Throws UserError when it cannot (a full disk).
  explicit BlackBox(const std::string& path);
  ~BlackBox();
  BlackBox(const BlackBox&) = delete;
  BlackBox& operator=(const BlackBox&) = delete;

  void begin(const BlackBoxEntry& entry);   // takes the oldest entry's place
  void finish(const BlackBoxEntry& entry);  // replaces the one that began last

 private:
  void write(const BlackBoxEntry& entry);

  void* memory_ = nullptr;
  uint64_t sequence_ = 0;  // of the newest entry
};

// Oldest first. Entries that were cut short are left out. Throws UserError naming the file when it is none.
std::vector<BlackBoxEntry> read_black_box(const std::string& path);

}  // namespace osprey
