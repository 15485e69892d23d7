#include "core/registry/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/logging.h"
#include "core/registry/registry.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

const std::string kStamp = "osprey plugin version ";  // as plugin_stamp.cc writes it

fs::path find_plugin(const ConfigNode& entry) {
  const fs::path path = entry.as<std::string>();
  const fs::path beside = fs::path(entry.origin().file).parent_path() / path;
  const bool in_file = entry.origin().line != 0;  // else it comes from the command line
  if (in_file && fs::is_regular_file(beside)) return fs::absolute(beside);
  if (fs::is_regular_file(path)) return fs::absolute(path);
  const bool two_places = in_file && beside != path;
  entry.fail("no such plugin: " + (two_places ? beside.string() + " or " : "") + path.string());
}

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Read from the file, because loading a library already runs its code: a plugin of another tree might
// register objects whose layout this program does not know.
void check_version(const ConfigNode& entry, const fs::path& path, const std::string& expected) {
  const std::string bytes = read_bytes(path);
  if (!starts_with(bytes,
                   "\x7F"
                   "ELF"))
    entry.fail(path.string() + " is not a shared library");
  const size_t stamp = bytes.find(kStamp);
  if (stamp == std::string::npos) {
    entry.fail(path.string() + " is not an Osprey plugin: build it with detection_plugin");
  }
  const std::string version = bytes.c_str() + stamp + kStamp.size();
  if (version != expected) {
    entry.fail(str_cat(path.string(), " was built against other headers (version ", version,
                       ", this program has ", expected, "): build it again"));
  }
}

// Returns the path it was found under.
std::string load_plugin(const ConfigNode& entry, const std::string& version) {
  const fs::path path = find_plugin(entry);
  check_version(entry, path, version);
  internal::require_unique_types();
  const bool loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
  if (!loaded) entry.fail(std::string("cannot load the plugin: ") + dlerror());
  const std::string duplicate = internal::take_duplicate_type();
  if (!duplicate.empty()) entry.fail(path.string() + ": " + duplicate);
  log_info("Loaded plugin " + path.string());
  return path.string();
}

}  // namespace

ConfigNode load_plugins(const ConfigNode& root, const std::string& version) {
  std::vector<std::string> paths;
  for (const ConfigNode& entry : root.find("plugins").items()) paths.push_back(load_plugin(entry, version));
  return paths.empty() ? root : root.with("plugins", paths);
}

}  // namespace osprey
