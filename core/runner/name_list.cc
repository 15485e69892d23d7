#include "core/runner/name_list.h"

#include <algorithm>
#include <map>

#include "core/base/strings.h"

namespace osprey {
namespace {

struct Group {
  std::string prefix;  // up to and including a dot; "" at the root
  std::vector<std::string> names;
};

// The group one dot further; names that end there stand alone.
std::vector<Group> opened(const Group& group) {
  std::vector<Group> parts;
  std::map<std::string, size_t> places;
  for (const std::string& name : group.names) {
    const size_t dot = name.find('.', group.prefix.size());
    const std::string prefix = dot == std::string::npos ? name : name.substr(0, dot + 1);
    const auto [place, added] = places.try_emplace(prefix, parts.size());
    if (added) parts.push_back({prefix, {}});
    parts[place->second].names.push_back(name);
  }
  return parts;
}

std::string text_of(const Group& group) {
  if (group.names.size() == 1) return group.names[0];
  return str_cat(group.prefix, "* (", group.names.size(), " keys)");
}

}  // namespace

std::string fold_names(const std::vector<std::string>& names, size_t limit) {
  if (names.size() <= limit) return join(names);
  std::vector<Group> groups = {{"", names}};
  std::vector<bool> closed = {false};
  for (;;) {
    size_t fullest = groups.size();
    for (size_t i = 0; i < groups.size(); ++i) {
      const bool fuller = fullest == groups.size() || groups[i].names.size() > groups[fullest].names.size();
      if (!closed[i] && groups[i].names.size() > 1 && fuller) fullest = i;
    }
    if (fullest == groups.size()) break;
    const std::vector<Group> parts = opened(groups[fullest]);
    if (groups.size() - 1 + parts.size() > limit) {
      closed[fullest] = true;
      continue;
    }
    const auto at = static_cast<int64_t>(fullest);
    groups.erase(groups.begin() + at);
    groups.insert(groups.begin() + at, parts.begin(), parts.end());
    closed.erase(closed.begin() + at);
    closed.insert(closed.begin() + at, parts.size(), false);
  }
  std::vector<std::string> texts;
  for (const Group& group : groups) texts.push_back(text_of(group));
  return join(texts);
}

}  // namespace osprey
