#pragma once

#include <cstddef>
#include <string>

namespace osprey {

// A file that appears under its name whole or not at all: the bytes go to a temporary file in the same
// directory; commit() flushes them to the disk and renames. Without commit() the temporary file is removed
// and an older file of that name stays as it was. Directories of the path are created. Throws UserError,
// naming the file, when the system refuses.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void write(const std::string& text) { write(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

// The usual case: the whole text at once.
void write_file_atomically(const std::string& path, const std::string& text);

}  // namespace osprey
