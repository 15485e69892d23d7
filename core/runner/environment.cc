#include "core/runner/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include "core/backend/device_backend.h"
#include "core/base/parallel.h"
#include "core/base/strings.h"
#include "core/runner/version.h"

namespace osprey {
namespace {

// The value of the first line of a /proc file that begins with `key`.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (starts_with(line, key) && colon != std::string::npos)
      return line.substr(line.find_first_not_of(" \t", colon + 1));
  }
  return "unknown";
}

// "\nGPU 0: ...\nCUDA: ...", "" where there are none.
std::string gpu_info() {
  const DeviceBackend* backend = device_backend(DeviceType::kCUDA);
  const int count = device_count(DeviceType::kCUDA);
  if (backend == nullptr || count == 0) return "";
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += str_cat("\nGPU ", i, ": ", backend->describe({DeviceType::kCUDA, i}));
  }
  return text + "\nCUDA: " + backend->versions();
}

}  // namespace

std::string environment_info() {
  utsname system{};
  ::uname(&system);
  return str_cat("system: ", system.sysname, " ", system.release, " ", system.machine,
                 "\nprocessor: ", proc_value("/proc/cpuinfo", "model name"),
                 "\ncores: ", ::sysconf(_SC_NPROCESSORS_ONLN), ", threads used: ", num_threads(),
                 "\nmemory: ", proc_value("/proc/meminfo", "MemTotal"), gpu_info(), "\ncompiler: g++ ",
                 __VERSION__, "\nOsprey: ", kVersion);
}

}  // namespace osprey
