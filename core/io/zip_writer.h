#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/atomic_file.h"

namespace osprey {

// Writes a zip file of stored entries, whole or not at all, as torch.save does: the data of every entry
// begins at a multiple of 64 bytes, so that a reader may map it. ZIP64 where sizes ask for it.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}
  // Requires distinct names.
  void add(const std::string& name, const void* data, uint64_t bytes);
  void add(const std::string& name, const std::string& text) { add(name, text.data(), text.size()); }
  void commit();

 private:
  struct Entry {
    std::string name;
    uint64_t bytes, header_offset;
    uint32_t crc;
  };
  void write(const std::string& text);
  static std::string central_record(const Entry& entry);

  AtomicFile file_;
  uint64_t position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace osprey
