#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/io/file_bytes.h"

namespace osprey {

// A zip file of stored (uncompressed) entries, which is what torch.save writes; ZIP64 included. Format:
// PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3. Throws UserError, naming the file, for anything malformed,
// compressed or encrypted. What can be read in total is bounded by the size of the file: entries that share
// bytes (a zip bomb) are refused.
class ZipArchive {
 public:
  struct Entry {
    uint64_t size = 0;
    uint64_t header_offset = 0;
    uint32_t crc = 0;  // 0: not recorded
  };

  explicit ZipArchive(const FileBytes& file);  // keeps a reference
  const std::map<std::string, Entry>& entries() const { return entries_; }
  bool has(const std::string& name) const { return entries_.count(name) != 0; }

  // Requires target to have room for entry.size bytes. Checks the CRC.
  void read(const std::string& name, void* target) const;
  std::string read(const std::string& name) const;

 private:
  struct Directory {
    uint64_t offset, bytes, count;
  };
  template <typename... Args>
  [[noreturn]] void invalid(const Args&... reason) const;
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  void check_total() const;
  const Entry& entry(const std::string& name) const;
  uint64_t data_offset(const std::string& name, const Entry& entry) const;

  const FileBytes& file_;
  std::map<std::string, Entry> entries_;
};

// CRC-32 of ISO 3309, as in zip and PNG.
uint32_t crc32(const void* data, uint64_t bytes);

}  // namespace osprey
