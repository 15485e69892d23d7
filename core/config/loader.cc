#include <filesystem>
#include <fstream>

#include "core/config/config.h"
#include "core/config/config_value.h"
#include "core/config/merge.h"
#include "core/config/overrides.h"
#include "core/config/references.h"
#include "core/config/scalar.h"
#include "core/config/yaml_parser.h"

namespace osprey {
namespace {

namespace fs = std::filesystem;
using Kind = ConfigValue::Kind;

// "no such file: a/b.yaml. Did you mean 'c.yaml'?", from the names in the same folder.
std::string no_such_file(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator(path.parent_path().empty() ? "." : path.parent_path(), ignored)) {
    names.push_back(entry.path().filename().string());
  }
  const std::string near = nearest_match(path.filename().string(), names);
  return "no such file: " + path.string() + (near.empty() ? "" : ". Did you mean '" + near + "'?");
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError("cannot open " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Loader {
 public:
  ValuePtr load_file(const fs::path& path);
  ValuePtr load_text(const std::string& text, const std::string& name, const fs::path& folder);
  ConfigNode finish(ValuePtr root, const std::vector<std::string>& overrides);

 private:
  ValuePtr load_bases(const ConfigValue& bases, const fs::path& folder);
  void refuse_cycle(const fs::path& path, const ConfigOrigin& listed) const;
  void add_base(ConfigValue& merged, const ConfigValue& base, const ConfigOrigin& listed) const;
  void mark_variables(const ValuePtr& root) const;
  void take_variables(const ValuePtr& root) const;

  std::vector<fs::path> chain_;       // the files being loaded, outermost first
  std::set<std::string> references_;  // every ${name} of every file, also of overridden values
};

ValuePtr Loader::load_file(const fs::path& path) {
  chain_.push_back(path);
  const ValuePtr root = load_text(read_text(path), path.string(), path.parent_path());
  chain_.pop_back();
  return root;
}

ValuePtr Loader::load_text(const std::string& text, const std::string& name, const fs::path& folder) {
  const ValuePtr root = parse_yaml(text, name);
  collect_references(*root, references_);
  const ConfigEntry* base = root->find("_base_");
  if (!base) return root;
  const ValuePtr bases = base->value;
  std::erase_if(root->entries, [](const ConfigEntry& entry) { return entry.key == "_base_"; });
  ValuePtr merged = load_bases(*bases, folder);
  merge(merged, root, "");
  return merged;
}

ValuePtr Loader::load_bases(const ConfigValue& bases, const fs::path& folder) {
  auto merged = std::make_shared<ConfigValue>();
  merged->kind = Kind::kMap;
  std::vector<const ConfigValue*> files = {&bases};
  if (bases.kind == Kind::kList) {
    files.clear();
    for (const ValuePtr& item : bases.items) files.push_back(item.get());
  }
  for (const ConfigValue* file : files) {
    if (file->kind != Kind::kScalar)
      fail_at(file->origin, "_base_", "expected a file or a list of files, got " + describe(*file));
    const fs::path path = (folder / file->text).lexically_normal();
    if (!fs::is_regular_file(path)) fail_at(file->origin, "_base_", no_such_file(path));
    refuse_cycle(path, file->origin);
    add_base(*merged, *load_file(path), file->origin);
  }
  return merged;
}

void Loader::refuse_cycle(const fs::path& path, const ConfigOrigin& listed) const {
  std::string chain;
  for (const fs::path& open : chain_) {
    if (!chain.empty() || fs::equivalent(open, path)) chain += open.string() + " -> ";
  }
  if (!chain.empty()) fail_at(listed, "_base_", "files include each other: " + chain + path.string());
}

// mmcv refuses a key that two bases define: the order of the list would decide in silence.
void Loader::add_base(ConfigValue& merged, const ConfigValue& base, const ConfigOrigin& listed) const {
  for (const ConfigEntry& entry : base.entries) {
    if (const ConfigEntry* first = merged.find(entry.key)) {
      fail_at(listed, "_base_",
              "key '" + entry.key + "' is given by two bases: " + to_string(first->origin) + " and " +
                  to_string(entry.origin));
    }
    merged.entries.push_back(entry);
  }
}

// `_variables_` of a dump names keys that are there for the record: their references are already resolved.
// One that was changed since would have no effect, so it stays an unread key.
void Loader::take_variables(const ValuePtr& root) const {
  const ConfigEntry* listed = root->find("_variables_");
  if (!listed) return;
  for (const std::string& name : ConfigNode(listed->value).as<std::vector<std::string>>()) {
    const ValuePtr value = find_path(root, name);
    if (value && value->origin.file == listed->value->origin.file) value->variable = true;
  }
  std::erase_if(root->entries, [](const ConfigEntry& entry) { return entry.key == "_variables_"; });
}

// A variable of a base serves even when this config replaced every value that was made from it; one given on
// the command line does not, its user expects an effect.
void Loader::mark_variables(const ValuePtr& root) const {
  for (const std::string& name : references_) {
    const ValuePtr value = find_path(root, name);
    if (value && value->origin.line != 0) value->variable = true;
  }
}

ConfigNode Loader::finish(ValuePtr root, const std::vector<std::string>& overrides) {
  for (const std::string& text : overrides) merge(root, parse_override(text), "");
  assign_paths(*root, "");
  resolve_references(root);
  assign_paths(*root, "");
  finish_merge(*root);
  take_variables(root);
  mark_variables(root);
  return ConfigNode(root);
}

}  // namespace

ConfigNode load_config(const std::string& path, const std::vector<std::string>& overrides) {
  const fs::path file = fs::path(path).lexically_normal();
  if (!fs::is_regular_file(file)) throw UserError("config: " + no_such_file(file));
  Loader loader;
  return loader.finish(loader.load_file(file), overrides);
}

ConfigNode parse_config(const std::string& text, const std::string& name,
                        const std::vector<std::string>& overrides) {
  Loader loader;
  return loader.finish(loader.load_text(text, name, ""), overrides);
}

}  // namespace osprey
