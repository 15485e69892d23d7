#pragma once

#include <stdexcept>
#include <string>

#include "core/base/strings.h"

namespace osprey {

// Something went wrong; what() is one clear line. A tool's main prints it and exits with exit_code().
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  virtual int exit_code() const { return 1; }
};

// The user can mend it: a config, a flag, a file. Exit code 2.
class UserError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

namespace internal {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}  // namespace internal

}  // namespace osprey

// A condition that a caller of the library can violate (shapes, dtypes): throws Error with the message.
#define OSPREY_REQUIRE(condition, ...)                                       \
  do {                                                                       \
    if (!(condition)) throw ::osprey::Error(::osprey::str_cat(__VA_ARGS__)); \
  } while (0)

// An invariant that only Osprey itself can break. Active in every build mode (`opt` defines NDEBUG).
#define OSPREY_ASSERT(condition, ...)                                                                   \
  do {                                                                                                  \
    if (!(condition))                                                                                   \
      ::osprey::internal::check_failed(__FILE__, __LINE__, #condition, ::osprey::str_cat(__VA_ARGS__)); \
  } while (0)
