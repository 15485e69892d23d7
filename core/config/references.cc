#include "core/config/references.h"

#include <map>

#include "core/config/merge.h"
#include "core/config/scalar.h"

namespace osprey {
namespace {

using Kind = ConfigValue::Kind;

// A string in pieces: literal text and the names of references.
struct Piece {
  std::string text;
  bool reference;
};

// Throws UserError when a ${ has no }.
std::vector<Piece> pieces_of(const ConfigValue& value) {
  std::vector<Piece> pieces;
  std::string literal;
  const std::string& text = value.text;
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 3, "$${") == 0) {
      literal += "${";
      i += 3;
    } else if (text.compare(i, 2, "${") == 0) {
      const size_t end = text.find('}', i);
      if (end == std::string::npos)
        fail_at(value.origin, value.path, "'${' without '}' in '" + text + "' ('$${' is a literal '${')");
      if (!literal.empty()) pieces.push_back({literal, false});
      literal.clear();
      pieces.push_back({text.substr(i + 2, end - i - 2), true});
      i = end + 1;
    } else {
      literal += text[i++];
    }
  }
  if (!literal.empty()) pieces.push_back({literal, false});
  return pieces;
}

class Resolver {
 public:
  explicit Resolver(ValuePtr root) : root_(std::move(root)) {}
  void resolve(const ValuePtr& value);

 private:
  void resolve_scalar(const ValuePtr& value);
  void become_copy(ConfigValue& value, const std::string& name);
  void insert_texts(ConfigValue& value, const std::vector<Piece>& pieces);
  ValuePtr target_of(const ConfigValue& value, const std::string& name);
  [[noreturn]] void fail_cycle(const ConfigValue& value) const;

  ValuePtr root_;
  std::map<const ConfigValue*, bool> done_;  // false while it is being resolved
  std::vector<std::string> chain_;
};

void Resolver::resolve(const ValuePtr& value) {
  const auto [state, fresh] = done_.emplace(value.get(), false);
  if (!fresh) {
    if (!state->second) fail_cycle(*value);
    return;
  }
  chain_.push_back(value->path);
  if (value->kind == Kind::kScalar) resolve_scalar(value);
  for (const ConfigEntry& entry : value->entries) resolve(entry.value);
  for (const ValuePtr& item : value->items) resolve(item);
  chain_.pop_back();
  done_[value.get()] = true;
}

void Resolver::fail_cycle(const ConfigValue& value) const {
  std::string chain;
  bool inside = false;
  for (const std::string& path : chain_) {
    inside = inside || path == value.path;
    if (inside) chain += path + " -> ";
  }
  fail_at(value.origin, value.path, "references form a cycle: " + chain + value.path);
}

void Resolver::resolve_scalar(const ValuePtr& value) {
  const std::vector<Piece> pieces = pieces_of(*value);
  if (pieces.size() == 1 && pieces[0].reference) {
    become_copy(*value, pieces[0].text);
    return;
  }
  insert_texts(*value, pieces);
}

void Resolver::become_copy(ConfigValue& value, const std::string& name) {
  const ValuePtr target = target_of(value, name);
  const ValuePtr copy = target->clone();
  value.kind = copy->kind;
  value.text = copy->text;
  value.quoted = copy->quoted;
  value.entries = copy->entries;
  value.items = copy->items;
  value.references.push_back({name, target->origin});
  assign_paths(value, value.path);
  if (value.pending.empty()) return;
  auto edited = std::make_shared<ConfigValue>(value);
  for (const ValuePtr& edit : value.pending) merge(edited, edit, value.path);
  edited->pending.clear();
  assign_paths(*edited, value.path);
  value = *edited;
}

void Resolver::insert_texts(ConfigValue& value, const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    if (!piece.reference) {
      text += piece.text;
      continue;
    }
    const ValuePtr target = target_of(value, piece.text);
    if (target->kind != Kind::kScalar) {
      fail_at(value.origin, value.path,
              "'${" + piece.text + "}' is " + describe(*target) + " (" + to_string(target->origin) +
                  "), which cannot stand inside a string");
    }
    text += target->text;
    value.references.push_back({piece.text, target->origin});
    value.quoted = true;
  }
  value.text = text;
}

ValuePtr Resolver::target_of(const ConfigValue& value, const std::string& name) {
  ValuePtr target = root_;
  for (const std::string& key : split(name, '.')) {
    if (is_reference(*target)) resolve(target);
    const ValuePtr next = child_of(*target, key);
    if (!next) {
      std::vector<std::string> keys;
      for (const ConfigEntry& entry : target->entries) keys.push_back(key_path(target->path, entry.key));
      const std::string near = nearest_match(name, keys);
      fail_at(value.origin, value.path,
              "'${" + name + "}' names no key of this config" +
                  (near.empty() ? "" : ". Did you mean '${" + near + "}'?"));
    }
    target = next;
  }
  resolve(target);
  target->variable = true;
  return target;
}

}  // namespace

bool is_reference(const ConfigValue& value) {
  if (value.kind != Kind::kScalar || !starts_with(value.text, "${")) return false;
  return value.text.find('}') == value.text.size() - 1;
}

void collect_references(const ConfigValue& value, std::set<std::string>& names) {
  if (value.kind == Kind::kScalar) {
    for (const Piece& piece : pieces_of(value)) {
      if (piece.reference) names.insert(piece.text);
    }
  }
  for (const ConfigEntry& entry : value.entries) collect_references(*entry.value, names);
  for (const ValuePtr& item : value.items) collect_references(*item, names);
}

void resolve_references(const ValuePtr& root) { Resolver(root).resolve(root); }

std::string escape_references(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) out += '$';
    out += text[i];
  }
  return out;
}

}  // namespace osprey
