#include "core/config/yaml_parser.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/config/scalar.h"

namespace osprey {
namespace {

using Kind = ConfigValue::Kind;

// Deeper nesting is an alias inside its own anchor, which yaml-cpp accepts.
constexpr int kMaxDepth = 100;

class YamlParser {
 public:
  // With `fixed_origin` (a command-line value) every part comes from there.
  explicit YamlParser(std::string name) : name_(std::move(name)) {}
  explicit YamlParser(const ConfigOrigin& fixed_origin) : name_(fixed_origin.file), fixed_(true) {}

  ValuePtr parse(const std::string& text, const std::string& path);

 private:
  ConfigOrigin at(const YAML::Mark& mark) const;
  ValuePtr convert(const YAML::Node& node, const ConfigOrigin& key, const std::string& path, int depth);
  void convert_map(const YAML::Node& node, ConfigValue& map, int depth);
  void merge_keys(const YAML::Node& source, const ConfigOrigin& key, ConfigValue& map, size_t position,
                  int depth);
  std::string read_key(const YAML::Node& key, const std::string& path) const;
  void note_alias(const YAML::Node& node, const ValuePtr& value);
  bool is_string_tag(const YAML::Node& node, const std::string& path) const;

  std::string name_;
  bool fixed_ = false;
  // Values by position: an alias is the anchor's own node, with the anchor's position.
  std::multimap<std::pair<int, int>, std::pair<YAML::Node, ValuePtr>> seen_;
};

// What YAML's own message does not tell: a bare ${key} opens a map inside {...} and [...].
std::string reference_hint(const std::string& text, const YAML::Mark& mark) {
  const std::vector<std::string> lines = split(text, '\n');
  const auto line = static_cast<size_t>(std::max(mark.line, 0));
  for (const size_t i : {line, line == 0 ? line : line - 1}) {
    const size_t start = i < lines.size() ? lines[i].find("${") : std::string::npos;
    if (start == std::string::npos || lines[i].find_first_of("{[") >= start) continue;
    const std::string reference = lines[i].substr(start, lines[i].find('}', start) + 1 - start);
    return ". Inside {...} and [...] a reference needs quotes: '" + reference + "'";
  }
  return "";
}

ConfigOrigin YamlParser::at(const YAML::Mark& mark) const {
  if (fixed_ || mark.line < 0) return {name_, 0, 0};
  return {name_, mark.line + 1, mark.column + 1};
}

ValuePtr YamlParser::parse(const std::string& text, const std::string& path) {
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(text);
  } catch (const YAML::Exception& error) {
    fail_at(at(error.mark), path, error.msg + reference_hint(text, error.mark));
  }
  if (documents.size() > 1)
    fail_at(at(documents[1].Mark()), path, "a config is one YAML document, this is a second one");
  return convert(documents.empty() ? YAML::Node() : documents[0], {name_, fixed_ ? 0 : 1, 1}, path, 0);
}

// `key` is where the value's key stands: block collections begin there, for the reader.
ValuePtr YamlParser::convert(const YAML::Node& node, const ConfigOrigin& key, const std::string& path,
                             int depth) {
  if (depth > kMaxDepth) fail_at(at(node.Mark()), path, "nested too deep; does an alias contain itself?");
  auto value = std::make_shared<ConfigValue>();
  value->path = path;
  const bool collection = node.IsMap() || node.IsSequence();
  const bool own_place = node.IsScalar() || (collection && node.Style() == YAML::EmitterStyle::Flow);
  value->origin = own_place ? at(node.Mark()) : key;
  if (collection || node.IsScalar()) note_alias(node, value);
  if (node.IsScalar()) {
    value->text = node.Scalar();
    value->quoted = is_string_tag(node, path);
    value->kind = value->quoted || !is_null_text(value->text) ? Kind::kScalar : Kind::kNull;
  } else if (node.IsMap()) {
    value->kind = Kind::kMap;
    convert_map(node, *value, depth);
  } else if (node.IsSequence()) {
    value->kind = Kind::kList;
    for (const YAML::Node& item : node) {
      value->items.push_back(
          convert(item, at(item.Mark()), index_path(path, value->items.size()), depth + 1));
    }
  }
  return value;
}

void YamlParser::convert_map(const YAML::Node& node, ConfigValue& map, int depth) {
  YAML::Node merged;
  std::optional<ConfigOrigin> merge_origin;
  size_t merge_position = 0;
  for (const auto& pair : node) {
    const std::string key = read_key(pair.first, map.path);
    const ConfigOrigin origin = at(pair.first.Mark());
    if (key == "<<") {
      if (merge_origin) {
        fail_at(origin, key_path(map.path, key),
                str_cat("duplicate key, first on line ", merge_origin->line, "; give '<<' a list"));
      }
      merged = pair.second;
      merge_origin = origin;
      merge_position = map.entries.size();
      continue;
    }
    const std::string path = key_path(map.path, key);
    if (const ConfigEntry* first = map.find(key)) {
      fail_at(origin, path,
              fixed_ ? "duplicate key" : str_cat("duplicate key, first on line ", first->origin.line));
    }
    map.entries.push_back({key, origin, convert(pair.second, origin, path, depth + 1)});
  }
  if (merge_origin) merge_keys(merged, *merge_origin, map, merge_position, depth);
}

// https://yaml.org/type/merge.html: keys of the map win over merged ones, earlier maps of a list over later.
// The merged keys take the place of `<<`.
void YamlParser::merge_keys(const YAML::Node& source, const ConfigOrigin& key, ConfigValue& map,
                            size_t position, int depth) {
  const ValuePtr value = convert(source, key, map.path, depth + 1);
  const std::vector<ValuePtr> sources =
      value->kind == Kind::kList ? value->items : std::vector<ValuePtr>{value};
  for (const ValuePtr& part : sources) {
    if (part->kind != Kind::kMap)
      fail_at(key, key_path(map.path, "<<"), "merges a map or a list of maps, got " + describe(*part));
    for (const ConfigEntry& entry : part->entries) {
      if (map.find(entry.key)) continue;
      map.entries.insert(map.entries.begin() + static_cast<std::ptrdiff_t>(position++), entry);
    }
  }
}

std::string YamlParser::read_key(const YAML::Node& key, const std::string& path) const {
  if (!key.IsScalar() || key.Scalar().empty()) fail_at(at(key.Mark()), path, "a key must be a word");
  return key.Scalar();
}

// A value that an alias repeats has done its duty even if no builder reads it under its own name.
void YamlParser::note_alias(const YAML::Node& node, const ValuePtr& value) {
  const std::pair<int, int> position{node.Mark().line, node.Mark().column};
  const auto [first, last] = seen_.equal_range(position);
  for (auto it = first; it != last; ++it) {
    if (!it->second.first.is(node)) continue;
    it->second.second->variable = true;
    return;
  }
  seen_.emplace(position, std::make_pair(node, value));
}

// Whether a scalar is a string by its quotes or tag. Throws for tags outside YAML's core schema.
bool YamlParser::is_string_tag(const YAML::Node& node, const std::string& path) const {
  const std::string& tag = node.Tag();
  if (tag == "!" || tag == "tag:yaml.org,2002:str") return true;
  for (const char* plain :
       {"?", "", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool"}) {
    if (tag == plain) return false;
  }
  fail_at(at(node.Mark()), path, "unknown tag '" + tag + "'");
}

}  // namespace

ValuePtr parse_yaml(const std::string& text, const std::string& name) {
  const ValuePtr root = YamlParser(name).parse(text, "");
  if (root->kind == Kind::kNull) root->kind = Kind::kMap;
  if (root->kind != Kind::kMap)
    fail_at(root->origin, "", "a config is a map (key: value), got " + describe(*root));
  return root;
}

ValuePtr parse_yaml_value(const std::string& text, const ConfigOrigin& origin, const std::string& path) {
  return YamlParser(origin).parse(text, path);
}

}  // namespace osprey
