#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace osprey {

// A file of TensorBoard events: TFRecords (u64 length, its masked CRC-32C, the data, its masked CRC-32C;
// little endian), each an `Event` of tensorflow/core/util/event.proto in protocol buffers' wire format. Every
// record reaches the file at once, so that TensorBoard can follow the run.
class EventFile {
 public:
  // Creates FOLDER/events.out.tfevents.TIME.HOST.PID. Throws UserError when that is impossible.
  explicit EventFile(const std::string& folder);

  struct Scalar {
    std::string tag;
    double value;  // stored as f32
  };
  // One event with all values; `step` is the x axis.
  void add_scalars(int64_t step, const std::vector<Scalar>& scalars);
  // For the text plugin.
  void add_text(int64_t step, const std::string& tag, const std::string& text);

  const std::string& path() const { return path_; }

 private:
  void add_summary(int64_t step, const std::string& summary);
  void write_record(const std::string& event);

  std::string path_;
  std::ofstream out_;
};

// CRC-32C (Castagnoli) of RFC 3720, and TFRecord's mask of it.
uint32_t crc32c(const void* data, size_t bytes);
uint32_t masked_crc32c(const void* data, size_t bytes);

}  // namespace osprey
