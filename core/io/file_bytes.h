#pragma once

#include <cstdint>
#include <string>

namespace osprey {

// A file opened for reading at any offset. Throws UserError, naming the file, when it cannot be opened or
// ends before the bytes that are asked for.
class FileBytes {
 public:
  explicit FileBytes(const std::string& path);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  void read(uint64_t offset, void* target, uint64_t bytes) const;
  // Checks the range before it allocates.
  std::string read(uint64_t offset, uint64_t bytes) const;

 private:
  std::string path_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace osprey
