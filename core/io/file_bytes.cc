#include "core/io/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace osprey {

FileBytes::FileBytes(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw UserError(str_cat(path, ": cannot open the file: ", std::strerror(errno)));
  struct stat info {};
  if (::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode)) size_ = static_cast<uint64_t>(info.st_size);
}

FileBytes::~FileBytes() { ::close(descriptor_); }

void FileBytes::read(uint64_t offset, void* target, uint64_t bytes) const {
  char* next = static_cast<char*>(target);
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw UserError(str_cat(path_, ": cannot read the file: ", std::strerror(errno)));
    if (got == 0) throw UserError(str_cat(path_, ": the file is truncated"));
    next += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<uint64_t>(got);
  }
}

std::string FileBytes::read(uint64_t offset, uint64_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) throw UserError(str_cat(path_, ": the file is truncated"));
  std::string content(bytes, '\0');
  read(offset, content.data(), bytes);
  return content;
}

}  // namespace osprey
