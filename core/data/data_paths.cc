#include "core/data/data_paths.h"

#include <filesystem>

namespace osprey {

namespace fs = std::filesystem;

std::string below_data_root(const ConfigNode& cfg, const std::string& path) {
  const std::string data_root = cfg.get("data_root", "");
  if (data_root.empty() || path.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(data_root) / path).string();
}

std::string find_ann_file(const ConfigNode& cfg) {
  const std::string path = below_data_root(cfg, cfg.get<std::string>("ann_file"));
  if (!fs::is_regular_file(path))
    cfg["ann_file"].fail(str_cat("there is no file '", path, "'", where_data_is(cfg, "ann_file")));
  return path;
}

std::string where_data_is(const ConfigNode& cfg, const char* key) {
  std::string override_ = cfg[key].path() + "=PATH";
  const std::string path = cfg.get<std::string>(key);
  if (!cfg.get("data_root", "").empty() && !fs::path(path).is_absolute())
    override_ = cfg["data_root"].path() + "=DIR";
  for (const ConfigSource& source : cfg[key].references()) {
    if (source.text == "data_root" || ends_with(source.text, ".data_root")) override_ = source.text + "=DIR";
  }
  return "; put the data set there, or say where it is: --cfg-options " + override_;
}

}  // namespace osprey
