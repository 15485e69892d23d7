#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"

namespace osprey {
namespace {

std::filesystem::path directory_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

// The rename itself must survive a power cut, not only the bytes.
void sync_directory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;  // a file system without directory handles
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path)
    : path_(path), temporary_(str_cat(path, ".tmp.", ::getpid())) {
  std::error_code ignored;  // open() below reports the reason
  std::filesystem::create_directories(directory_of(path), ignored);
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("write");
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("flush");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  ::close(descriptor_);
  descriptor_ = -1;
  sync_directory(directory_of(path_));
}

void AtomicFile::fail(const char* action) const {
  throw UserError(str_cat(path_, ": cannot ", action, " the file: ", std::strerror(errno)));
}

void write_file_atomically(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace osprey
