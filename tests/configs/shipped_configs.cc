#include "tests/configs/shipped_configs.h"

#include <algorithm>
#include <filesystem>

#include "core/base/strings.h"

namespace osprey {

namespace fs = std::filesystem;

std::vector<std::string> shipped_configs() {
  std::vector<std::string> files;
  constexpr auto kThroughLinks = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator("configs", kThroughLinks)) {
    const std::string path = entry.path().string();
    if (ends_with(path, ".yaml") && path.find("_base_") == std::string::npos) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string test_name(const std::string& config) {
  std::string name = config.substr(config.find('/') + 1);
  name = name.substr(0, name.rfind('.'));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace osprey
