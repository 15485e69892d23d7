#include "core/config/merge.h"

#include <algorithm>

#include "core/config/references.h"
#include "core/config/scalar.h"

namespace osprey {
namespace {

using Kind = ConfigValue::Kind;

// Takes the `_delete_` mark out of a map and says whether it was set.
bool take_delete(ConfigValue& map, const std::string& path) {
  const ConfigEntry* entry = map.find("_delete_");
  if (!entry) return false;
  const ConfigValue& mark = *entry->value;
  const auto on = mark.kind == Kind::kScalar && !mark.quoted ? parse_bool(mark.text) : std::nullopt;
  if (!on) fail_at(mark.origin, key_path(path, "_delete_"), "expected true or false, got " + describe(mark));
  std::erase_if(map.entries, [](const ConfigEntry& e) { return e.key == "_delete_"; });
  return *on;
}

void replace(ValuePtr& base, const ValuePtr& edit) {
  const ValuePtr old = base;
  base = edit;
  base->overridden = old->overridden;
  base->overridden.insert(base->overridden.begin(), {describe(*old), old->origin});
}

void merge_maps(ConfigValue& base, const ConfigValue& edit, const std::string& path) {
  for (const ConfigEntry& entry : edit.entries) {
    if (ConfigEntry* old = base.find(entry.key)) {
      old->origin = entry.origin;
      merge(old->value, entry.value, key_path(path, entry.key));
    } else {
      base.entries.push_back(entry);
    }
  }
  base.origin = edit.origin;
  base.variable = false;  // an alias that copied it earlier does not see the edit: somebody must read it
}

bool edits_elements(const ConfigValue& edit) {
  return std::all_of(edit.entries.begin(), edit.entries.end(), [](const ConfigEntry& entry) {
    return entry.key == "_each_" || list_index(entry.key) >= 0;
  });
}

void edit_list(ConfigValue& list, const ConfigValue& edit, const std::string& path) {
  if (!edits_elements(edit)) {
    fail_at(edit.origin, path,
            str_cat("a map cannot be merged into a list of ", list.items.size(), " (", to_string(list.origin),
                    "): edit elements with '_each_: ...' or '0: ...', or replace the list with a list"));
  }
  if (const ConfigEntry* each = edit.find("_each_")) {
    for (size_t i = 0; i < list.items.size(); ++i)
      merge(list.items[i], each->value->clone(), index_path(path, i));
  }
  for (const ConfigEntry& entry : edit.entries) {
    if (entry.key == "_each_") continue;
    const auto index = static_cast<size_t>(list_index(entry.key));
    if (index >= list.items.size()) {
      fail_at(entry.origin, path,
              str_cat("index ", index, " is past the end of a list of ", list.items.size(), " (",
                      to_string(list.origin), ")"));
    }
    merge(list.items[index], entry.value, index_path(path, index));
  }
}

}  // namespace

void merge(ValuePtr& base, const ValuePtr& edit, const std::string& path) {
  if (edit->kind != Kind::kMap || take_delete(*edit, path)) {
    replace(base, edit);
    return;
  }
  switch (base->kind) {
    case Kind::kNull:
      return replace(base, edit);
    case Kind::kMap:
      return merge_maps(*base, *edit, path);
    case Kind::kList:
      return edit_list(*base, *edit, path);
    case Kind::kScalar:
      break;
  }
  if (is_reference(*base)) {  // what it stands for is known after all merging
    base->pending.push_back(edit);
    return;
  }
  fail_at(edit->origin, path,
          str_cat("a map cannot be merged into ", describe(*base), " (", to_string(base->origin),
                  "); to replace it, write '_delete_: true' into the map"));
}

void finish_merge(ConfigValue& value) {
  if (value.kind == Kind::kMap) take_delete(value, value.path);
  if (const ConfigEntry* each = value.find("_each_")) {
    fail_at(each->origin, key_path(value.path, "_each_"),
            "edits the elements of a list, but _base_ has no list here");
  }
  for (ConfigEntry& entry : value.entries) finish_merge(*entry.value);
  for (ValuePtr& item : value.items) finish_merge(*item);
}

}  // namespace osprey
