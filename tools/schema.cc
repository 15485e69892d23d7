#include "tools/schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <ostream>

#include "core/config/config.h"
#include "core/registry/registry.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;

// --- The class comment.

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The comment right above "class Type" in a file; empty when the class is not there.
std::vector<std::string> class_comment(const fs::path& path, const std::string& type) {
  const std::vector<std::string> lines = lines_of(path);
  const auto declares = [&](const std::string& line) {
    const std::string rest = starts_with(line, "class " + type) ? line.substr(6 + type.size()) : "";
    return starts_with(rest, " ") && rest.find('{') != std::string::npos;
  };
  const auto found = std::find_if(lines.begin(), lines.end(), declares);
  if (found == lines.end()) return {};
  auto first = found;
  while (first != lines.begin() && starts_with(*(first - 1), "//")) --first;
  std::vector<std::string> comment;
  for (; first != found; ++first) comment.push_back(first->substr(first->size() > 2 ? 3 : 2));
  return comment;
}

// In the header, or in the source where a class has none.
std::vector<std::string> doc_of(const RegisteredType& type, const fs::path& root) {
  const fs::path source = root / type.file;
  std::vector<std::string> comment = class_comment(fs::path(source).replace_extension(".h"), type.type);
  return comment.empty() ? class_comment(source, type.type) : comment;
}

// --- Something to build it from.

ConfigNode find_type(const ConfigNode& node, const std::string& type) {
  if (node.is_map() && node.has("type") && node["type"].is<std::string>() &&
      node["type"].as<std::string>() == type)
    return node;
  for (const std::string& key : node.is_map() ? node.keys() : std::vector<std::string>{}) {
    const ConfigNode found = find_type(node[key], type);
    if (!found.is_null()) return found;
  }
  for (size_t i = 0; node.is_list() && i < node.size(); ++i) {
    const ConfigNode found = find_type(node.at(i), type);
    if (!found.is_null()) return found;
  }
  return {};
}

std::vector<fs::path> configs_below(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".yaml" && path.find("_base_") == std::string::npos)
      files.push_back(entry);
  }
  std::sort(files.begin(), files.end());
  return files;
}

ConfigNode example_of(const std::string& type, const fs::path& root) {
  for (const fs::path& file : configs_below(root / "configs")) {
    // A fresh load: the search has marked and asked everything.
    const ConfigNode found = find_type(load_config(file.string()), type);
    if (!found.is_null()) return parse_config(found.to_yaml(), file.string());
  }
  return parse_config("type: " + type);
}

std::string placeholder(const std::string& type) {
  if (starts_with(type, "a list, each ")) return "[" + placeholder(type.substr(13)) + "]";
  if (starts_with(type, "one of ")) return split(type.substr(7), ',')[0];
  if (type == "true or false") return "false";
  return type == "a string" ? "x" : type == "a number" ? "0.5" : "1";
}

// Builds one, giving what turns out to be required; returns why it could not be built in the end, or "".
std::string build_one(const RegisteredType& type, ConfigNode& cfg) {
  for (;;) {
    std::string problem;
    try {
      type.build(cfg);
      return "";
    } catch (const std::exception& error) {
      problem = error.what();
    }
    bool added = false;
    for (const ConfigKey& key : cfg.asked_keys()) {
      if (cfg.has(key.name) || key.type.empty() || !key.fallback.empty()) continue;
      cfg = cfg.with(key.name, parse_config("value: " + placeholder(key.type))["value"]);
      added = true;
    }
    if (!added) return problem;
  }
}

// --- Printing.

void print_key(const ConfigKey& key, int width, std::ostream& out) {
  out << "  " << std::left << std::setw(width + 2) << key.name;
  out << (key.type.empty() ? "a block or one of several forms" : key.type);
  if (!key.allowed.empty()) out << ", " << key.allowed;
  if (!key.fallback.empty()) out << " (" << key.fallback << ")";
  out << "\n";
}

void print_keys(const std::vector<ConfigKey>& keys, std::ostream& out) {
  size_t width = 0;
  for (const ConfigKey& key : keys) width = std::max(width, key.name.size());
  for (const ConfigKey& key : keys) {
    if (key.name != "type") print_key(key, static_cast<int>(width), out);
  }
}

void print_type(const RegisteredType& type, const std::string& root, std::ostream& out) {
  out << type.type << ", a " << type.kind << ": " << type.file << "\n";
  for (const std::string& line : doc_of(type, root)) out << "  " << line << "\n";
  ConfigNode cfg = example_of(type.type, root);
  const std::string problem = build_one(type, cfg);
  out << "\nkeys, with the default in brackets:\n";
  print_keys(cfg.asked_keys(), out);
  if (!problem.empty()) out << "perhaps more; a trial could not be built: " << problem << "\n";
}

}  // namespace

void print_types(std::ostream& out) {
  std::string kind;
  for (const RegisteredType& type : registered_types()) {
    if (type.kind != kind) out << type.kind << "\n";
    kind = type.kind;
    out << "  " << std::left << std::setw(34) << type.type << type.file << "\n";
  }
}

void print_schema(const std::string& type, const std::string& root, std::ostream& out) {
  std::vector<std::string> names;
  bool found = false;
  for (const RegisteredType& registered : registered_types()) {
    names.push_back(registered.type);
    if (registered.type != type) continue;
    if (found) out << "\n";
    print_type(registered, root, out);
    found = true;
  }
  if (found) return;
  const std::string near = nearest_match(type, names);
  throw UserError("--schema: there is no type '" + type + "'; --schema alone lists them" +
                  (near.empty() ? "" : ". Did you mean '" + near + "'?"));
}

}  // namespace osprey
