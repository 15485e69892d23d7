#include "core/base/error.h"

namespace osprey::internal {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  throw Error(str_cat("internal error at ", file, ":", line, ": ", message, " (", condition, ")"));
}

}  // namespace osprey::internal
